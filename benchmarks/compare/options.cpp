#include "compare/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <sstream>

#include "compare/buffers.hpp"
#include "rondo/planning.hpp"
#include "tools/support/flags.hpp"

namespace compare {
namespace {

[[noreturn]] void refuse(const std::string& line) {
  std::cerr << "compare: " << line << "\n";
  std::exit(2);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::uint64_t parse_size(const std::string& text) {
  const std::string accepted = "--sizes: '" + text + "' is not a size: a multiple of 4 from 4 to 1G such as 8, 64K, 4M";
  std::size_t used = 0;
  std::uint64_t value = 0;
  try {
    value = text.empty() || text[0] == '-' ? 0 : std::stoull(text, &used);
  } catch (const std::exception&) {
    refuse(accepted);
  }
  const std::string unit = text.substr(used);
  const std::size_t power = unit.empty() ? 0 : std::string("KMG").find(unit) + 1;
  if (value == 0 || value > (1U << 30) || unit.size() > 1 || power > 3) refuse(accepted);
  value <<= 10 * power;
  if (value % 4 != 0 || value > (1U << 30)) refuse(accepted);
  return value;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  if (text.find(':') == std::string::npos) {
    for (const std::string& part : split(text, ',')) sizes.push_back(parse_size(part));
    return sizes;
  }
  const auto ends = split(text, ':');
  if (ends.size() != 2) refuse("--sizes: '" + text + "' is neither FIRST:LAST nor a list");
  const std::uint64_t last = parse_size(ends[1]);
  for (std::uint64_t bytes = parse_size(ends[0]); bytes <= last; bytes *= factor) sizes.push_back(bytes);
  if (sizes.empty()) refuse("--sizes: '" + text + "' runs backwards");
  return sizes;
}

std::vector<std::uint32_t> parse_ranks(const std::string& text) {
  std::vector<std::uint32_t> ranks;
  for (const std::string& part : split(text, ',')) {
    const bool digits = !part.empty() && part.size() < 3 && part.find_first_not_of("0123456789") == std::string::npos;
    const std::uint32_t value = digits ? static_cast<std::uint32_t>(std::stoul(part)) : 0;
    if (value < 2 || value > 8) refuse("--ranks: '" + part + "' is not a number from 2 to 8");
    ranks.push_back(value);
  }
  return ranks;
}

template <class Names>
std::string joined(const Names& names, const std::string& separator) {
  std::string text;
  for (const auto& each : names) text += (text.empty() ? "" : separator) + std::string(each);
  return text;
}

template <class Names>
std::size_t index_of(const Names& names, const std::string& name, const std::string& flag) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  refuse(flag + ": '" + name + "' is none of " + joined(names, ", "));
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::string ranks = "2,4,8";
  std::string operations = "all_reduce";
  std::string types = "f32";
  std::string sizes;
  std::string plans;
  std::string libraries = joined(known_libraries, ",");
  CLI::App app("Collectives of several libraries in one run, in turns", "tools/compare");
  app.add_flag("--quick", options.quick, "fewer sizes, shorter blocks: at most 8 minutes");
  app.add_option("--ranks", ranks, "numbers of ranks, e.g. 2,4,8");
  app.add_option("--ops", operations, "of " + joined(operation_names, ", "));
  app.add_option("--type", types, "of " + joined(type_names, ", "));
  app.add_option("--sizes", sizes, "FIRST:LAST (e.g. 4:256M) or a list (8,64K); bytes of the larger buffer");
  app.add_option("--libraries", libraries, "of " + joined(known_libraries, ", ") + " (hand-written); symmetric: Rondo on buffers of its allocate()");
  app.add_option("--plans", plans, "plan files (of --ranks ranks): each takes part too, as Rondo running exactly that plan");
  app.add_flag("--barrier", options.barrier, "each call begins behind a barrier of its library, outside the clock, as after work that ranks share evenly");
  app.add_flag("--aligned", options.aligned, "buffers begin with a cache line, as torch's tensors do");
  app.add_option("--rounds", options.rounds, "rounds (21 and more give an interval)")->check(tool_support::whole_number(1, 1000));
  app.add_option("--block-ms", options.block_ms, "aim for a block")->check(tool_support::decimal_number(0.5, longest_block_ms));
  app.add_option("--seed", options.seed, "of the order of the blocks")
      ->check(tool_support::whole_number(0, std::numeric_limits<std::uint32_t>::max()));
  app.add_option("--raw", options.raw, "file for the raw rows")->required();
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "compare", status)) std::exit(status);
  if (sizes.empty()) sizes = options.quick ? "4:64M" : "4:256M";
  if (options.quick && app.count("--block-ms") == 0) options.block_ms = 8;
  options.ranks = parse_ranks(ranks);
  options.sizes = parse_sizes(sizes, options.quick ? 16 : 4);
  for (const std::string& name : split(operations, ',')) {
    options.operations.push_back(static_cast<Operation>(index_of(operation_names, name, "--ops")));
  }
  for (const std::string& name : split(types, ',')) options.types.push_back(static_cast<Type>(index_of(type_names, name, "--type")));
  for (const std::string& name : split(libraries, ',')) {
    options.libraries.push_back(known_libraries[index_of(known_libraries, name, "--libraries")]);
  }
  for (const std::string& file : split(plans, ',')) {
    if (access(file.c_str(), R_OK) != 0) refuse("--plans: cannot read '" + file + "'");
    options.plans.push_back(file);
  }
  if (options.ranks.empty() || options.operations.empty() || options.types.empty() || options.libraries.empty() || options.sizes.empty()) {
    refuse("--ranks, --ops, --type, --sizes and --libraries each need a value");
  }
  const auto environment = rondo::planning_options(1);  // said here, or every one of Rondo's ranks would say it
  if (!environment) refuse(rondo::to_string(environment.error()));
  return options;
}

std::vector<Case> cases_for(const Options& options, std::uint32_t ranks) {
  constexpr std::uint64_t quick_limit_crowded = std::uint64_t{16} << 20;
  std::vector<Case> cases;
  const auto add = [&](Case what) {
    if (what.operation == Operation::barrier) {  // it has no buffers
      if (what.type == options.types.front() && what.bytes == options.sizes.front()) cases.push_back({Operation::barrier, what.type, 0, 0, 0, 0, 0});
      return;
    }
    const Extent extent = extent_of(what, ranks);
    if (std::max(extent.input, extent.output) * size_of(what.type) != what.bytes || extent.block == 0) return;  // not whole blocks
    if (options.quick && ranks > 2 && what.bytes > quick_limit_crowded) return;
    for (const std::uint32_t in_place : {0U, 1U}) {
      for (const std::uint32_t touch : {0U, 1U}) {
        if (options.quick && ranks > 2 && touch != 0) continue;
        what.barrier = options.barrier ? 1 : 0;
        what.aligned = options.aligned ? 1 : 0;
        what.in_place = in_place;
        what.touch = touch;
        cases.push_back(what);
      }
    }
  };
  for (const Operation operation : options.operations) {
    for (const Type type : options.types) {
      for (const std::uint64_t bytes : options.sizes) add({operation, type, 0, 0, 0, 0, bytes});
    }
  }
  return cases;
}

}  // namespace compare
