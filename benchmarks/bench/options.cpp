#include "options.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "tools/support/flags.hpp"
#include "tools/support/version.hpp"

namespace {

const char* const op_names = "all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, all_to_all_v, gather, scatter, scan, send_recv or barrier";

/// "64", "8K", "1.5M", "2G" (binary), as nccl-tests reads them.
std::uint64_t parse_size(const std::string& flag, const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  double scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  else if (unit == "K" || unit == "k" || unit == "KiB") scale = 1024;
  else if (unit == "M" || unit == "m" || unit == "MiB") scale = 1024.0 * 1024;
  else if (unit == "G" || unit == "g" || unit == "GiB") scale = 1024.0 * 1024 * 1024;
  if (used == 0 || scale == 0 || !(value >= 0) || value * scale > 1e15)
    throw CLI::ValidationError(flag, "'" + text + "' is no size; accepted: a number with K, M or G after it or nothing, e.g. 8, 64K, 1G");
  return static_cast<std::uint64_t>(value * scale);
}

template <class T>
T value_or_throw(const std::string& flag, rondo::Result<T> result) {
  if (!result) throw CLI::ValidationError(flag, result.error().detail);
  return *result;
}

/// Asked before anything is measured, and without leaving a file behind.
bool can_be_written(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return !std::filesystem::is_directory(file, ignored) && access(file.c_str(), W_OK) == 0;
  return access(std::filesystem::absolute(file, ignored).parent_path().c_str(), W_OK | X_OK) == 0;
}

/// What the command line says in words, before these are understood.
struct Words {
  std::string collective, min = "8", max = "64M", step, type = "f32", op = "sum";
  int check = 1;
  bool no_bind = false;
};

void describe(CLI::App& app, Options& options, Words& words) {
  using tool_support::decimal_number;
  using tool_support::whole_number;
  const auto counts = whole_number(0, std::numeric_limits<std::uint32_t>::max());
  app.add_option("OP", words.collective, op_names)->required();
  app.add_option("-n,--ranks", options.ranks, "local ranks to start (none: one rank of the job that the environment describes)")
      ->check(whole_number(1, 4096));
  app.add_flag("--threads", options.threads, "ranks are threads of one process");
  app.add_flag("--no-bind", words.no_bind, "don't bind rank r to processor r (done when there are enough)");
  app.add_option("-b,--minbytes", words.min, "smallest size");
  app.add_option("-e,--maxbytes", words.max, "largest size");
  app.add_option("-i,--stepbytes", words.step, "additive step between sizes");
  app.add_option("-f,--stepfactor", options.factor, "factor between sizes")->check(decimal_number(1.001, 1e6));
  app.add_option("--iters", options.iterations, "iterations a measurement (0: chosen for a steady one)")->check(counts);
  app.add_option("-w,--warmup_iters", options.warmup, "iterations before the clock starts (none given: chosen, as --iters)")->check(counts);
  app.add_option("-c,--check", words.check, "0: don't check results")->check(whole_number(0, 1));
  app.add_option("-d,--datatype", words.type, "element type");
  app.add_option("-o,--op", words.op, "reduction");
  app.add_option("-r,--root", options.root, "root of broadcast and reduce")->check(counts);
  app.add_option("--plan", options.plan_file, "run exactly this plan (Rondo JSON, MSCCL XML or MSCCL++ JSON)");
  app.add_flag("--unverified", options.unverified, "run --plan without proving it");
  app.add_option("--deadline", options.deadline_s, "seconds after which an operation counts as stuck")->check(decimal_number(0.001, 1e6));
  app.add_option("--algorithm", options.algorithm, "force an algorithm");
  app.add_option("--transport", options.transport, "shm, tcp, ucx, shm+tcp or shm+ucx");
  app.add_flag("--touch", options.touch, "owners write their buffers between iterations");
  app.add_flag("--symmetric", options.symmetric, "buffers of allocate(), which the other ranks have mapped");
  app.add_flag("--percentiles", options.percentiles, "also time single calls: 50, 90, 99 percent");
  app.add_option("--json", options.json_file, "also write the rows to this file");
  app.add_option("--trace", options.trace_file, "also write a timeline of some calls of each size to this file, for ui.perfetto.dev");
  app.set_version_flag("--version", "rondo-bench " + tool_support::version_text());
}

/// Flags that make sense one by one and not together.
void refuse_contradictions(const Options& options) {
  const bool messages = options.collective == rondo::Collective::send_recv;
  if (options.unverified && options.plan_file.empty()) throw CLI::ValidationError("--unverified", "needs --plan FILE");
  if (options.threads && options.ranks == 0) throw CLI::ValidationError("--threads", "needs -n N");
  if (options.ranks != 0 && options.root >= options.ranks)
    throw CLI::ValidationError("--root", "'" + std::to_string(options.root) + "' is not below " + std::to_string(options.ranks) + " ranks");
  if (messages && options.ranks == 1) throw CLI::ValidationError("--ranks", "'1'; accepted: 2 or more, since send_recv needs a neighbour");
  if (messages && !options.plan_file.empty()) throw CLI::ValidationError("--plan", "send_recv is made of messages, which run no plan of a collective");
}

void understand(const Words& words, Options& options) {
  options.collective = value_or_throw("OP", rondo::parse_collective(words.collective));
  options.min_bytes = parse_size("--minbytes", words.min);
  options.max_bytes = parse_size("--maxbytes", words.max);
  if (!words.step.empty()) options.step_bytes = parse_size("--stepbytes", words.step);
  options.type = value_or_throw("--datatype", rondo::parse_data_type(words.type));
  options.op = value_or_throw("--op", rondo::parse_reduce_op(words.op));
  options.check = words.check != 0;
  options.bind = !words.no_bind;
  if (options.min_bytes > options.max_bytes) throw CLI::ValidationError("--minbytes", words.min + " is above -e " + words.max);
  if (!rondo::is_defined(options.op, options.type) && rondo::is_reduction(options.collective))
    throw CLI::ValidationError("--op", words.op + " is not defined on " + words.type + "; accepted: integer types");
  if (rondo::is_reduction(options.collective) && !rondo::is_defined(options.op, options.collective))
    throw CLI::ValidationError("--op", words.op + " is not defined for " + words.collective);
  refuse_contradictions(options);
  for (const auto& [flag, file] : {std::pair("--json", &options.json_file), std::pair("--trace", &options.trace_file)})
    if (!file->empty() && !can_be_written(*file))
      throw CLI::ValidationError(flag, "cannot write '" + *file + "'; accepted: a file in a folder that can be written to");
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  CLI::App app{"rondo-bench: times a collective as nccl-tests does, and checks its results"};
  Options options;
  Words words;
  describe(app, options, words);
  if (!tool_support::parse(app, argc, argv, "rondo-bench", status)) return std::nullopt;
  try {
    understand(words, options);
    return options;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "rondo-bench: %s\n", tool_support::explain(app, error).c_str());
    status = 2;
  }
  return std::nullopt;
}
