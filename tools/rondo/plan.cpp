// rondo plan: which plan a collective would get on a machine, its steps, and why that one.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "commands.hpp"
#include "plan_text.hpp"
#include "rondo/planning.hpp"
#include "tools/support/flags.hpp"
#include "ways.hpp"

namespace {

using namespace rondo;

struct PlanOptions {
  std::string collective;
  std::uint32_t ranks = 0;
  std::string bytes = "1M";
  std::string type = "f32";
  std::string op = "sum";
  std::uint32_t root = 0;
  std::uint32_t rank = 0;
  std::string algorithm;
  std::string topology;
  std::optional<double> latency_ns;  ///< in the place of the topology's
  std::string format = "text";
  bool in_place = false;
  bool symmetric = false;
  bool kernel_copies = false;
  bool explain = false;
};

Error wrong(const std::string& detail) {
  return Error{Errc::invalid_argument, detail, 0, {}};
}

/// A whole number with an optional K, M or G: powers of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text) {
  const Error refused =
      wrong("--bytes '" + text + "': expected a whole number, with K, M or G behind it for powers of 1024");
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return refused;
  std::string suffix(rest, end);
  if (suffix.size() > 1 && (suffix.ends_with("iB") || suffix.ends_with("B"))) suffix.resize(1);
  static const std::string letters = "BKMG";
  if (suffix.size() > 1) return refused;
  const auto letter = suffix.empty() ? 0 : letters.find(static_cast<char>(suffix[0] & ~0x20));
  if (letter == std::string::npos || number > (std::uint64_t{1} << 62 >> (10 * letter))) return refused;
  return number << (10 * letter);
}

/// `--bytes` are those of the larger buffer, rounded down to whole elements as in rondo-bench; a request counts the
/// elements of a block.
Result<Request> parse_request(const PlanOptions& options) {
  const auto collective = parse_collective(options.collective);
  if (!collective) return collective.error();
  const auto bytes = parse_bytes(options.bytes);
  if (!bytes) return bytes.error();
  const auto type = parse_data_type(options.type);
  if (!type) return type.error();
  const auto op = parse_reduce_op(options.op);
  if (!op) return op.error();
  Request request = request_of_bytes(*collective, options.ranks, *bytes, *type, options.in_place);
  request.op = *op;
  request.root = options.root;
  request.symmetric = options.symmetric;
  request.kernel_copies = options.kernel_copies;
  return request;
}

std::string print_time(double ns) {
  char text[32];
  const char* unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
  const double value = ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9;
  std::snprintf(text, sizeof text, "%.3g %s", value, unit);
  return text;
}

void print_header(const PlanOptions& options, const Plan& plan) {
  const PlanHeader& header = plan.header;
  std::printf("%s over %u ranks, %s of %s: %s, about %s\n", options.collective.c_str(), header.ranks,
              options.bytes.c_str(), options.type.c_str(), header.algorithm.c_str(),
              print_time(plan.predicted_ns).c_str());
  std::printf("protocol %s, chunks a block %u, scratch chunks %u, slots %u",
              std::string(to_string(header.protocol)).c_str(), header.chunks_per_block, header.scratch_chunks,
              header.depth);
  if (header.wire) std::printf(" of %s", std::string(to_string(*header.wire)).c_str());
  if (header.piece_bytes != 0) std::printf(", pieces of at most %u bytes", header.piece_bytes);
  std::printf("\n");
  if (!header.groups.empty()) {
    std::printf("groups of");
    for (const std::uint32_t ranks : header.groups) std::printf(ranks == header.groups.front() ? " %u" : ", %u", ranks);
    std::printf(" ranks\n");
  }
  for (std::size_t k = 0; k < header.order.size(); ++k) {
    if (k % header.ranks == 0) std::printf("order of ranks:");
    std::printf(" %u", header.order[k]);
    if ((k + 1) % header.ranks == 0) std::printf("\n");
  }
}

void print_program(const Plan& plan, std::uint32_t rank) {
  std::printf("\nrank %u, for each piece:\n", rank);
  const Program program = plan.program(rank);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    if (program.lanes.size() > 1) std::printf("  lane %zu\n", lane);
    for (std::size_t step = 0; step < program.lanes[lane].steps.size(); ++step)
      std::printf("  %3zu  %s\n", step, describe(program.lanes[lane].steps[step]).c_str());
  }
}

void print_reasons(const Plan& plan, const PlanningScene& scene, bool latency_given) {
  std::vector<Candidate> candidates = plan.considered;
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const bool a_serves = a.note.rfind("can't serve", 0) != 0;
    const bool b_serves = b.note.rfind("can't serve", 0) != 0;
    return a_serves != b_serves ? a_serves : a_serves && a.predicted_ns < b.predicted_ns;
  });
  std::printf("\nconsidered:\n");
  for (const Candidate& candidate : candidates) {
    const bool serves = candidate.note.rfind("can't serve", 0) != 0;
    std::printf("  %-20s %10s  %s\n", candidate.algorithm.c_str(),
                serves ? print_time(candidate.predicted_ns).c_str() : "-", candidate.note.c_str());
  }
  if (const std::string ways = ways_taken(plan, scene.topology); !ways.empty()) std::printf("\n%s\n", ways.c_str());
  std::printf("\nfigures of the cost model:\n");
  for (const std::string& source : scene.cost.sources) std::printf("  %s\n", source.c_str());
  if (!latency_given)
    std::printf("a communicator with a processor for each rank puts its own probe in the place of latency_ns and line_ns, and may choose "
                "another plan; --latency NS sets them here\n");
}

Result<void> run(const PlanOptions& options) {
  if (options.rank >= options.ranks)
    return wrong("--rank " + std::to_string(options.rank) + ": expected less than --ranks " +
                 std::to_string(options.ranks));
  const auto request = parse_request(options);
  if (!request) return request.error();
  std::optional<Topology> machine;
  if (!options.topology.empty()) {
    auto loaded = load_topology(options.topology);
    if (!loaded) return loaded.error();
    machine = std::move(*loaded);
  }
  auto scene = planning_scene(std::move(machine), options.ranks);
  if (!scene) return scene.error();
  if (options.latency_ns) set_latency(scene->cost, *options.latency_ns, "given by --latency");
  const auto plan = plan_call(*scene, *request, options.algorithm);
  if (!plan) return plan.error();
  if (options.format != "text") {
    const auto text = plan_text(*plan, options.format);
    if (!text) return text.error();
    warn_of_limits("rondo plan", *text, options.format);
    std::printf("%s", text->c_str());
    return {};
  }
  print_header(options, *plan);
  if (options.explain) print_reasons(*plan, *scene, options.latency_ns.has_value());
  print_program(*plan, options.rank);
  return {};
}

int finish(const PlanOptions& options) {
  const auto done = run(options);
  if (done && std::fflush(stdout) == 0) return 0;
  const std::string why = done ? "can't write to standard output" : to_string(done.error());
  std::fprintf(stderr, "rondo plan: %s\n", why.c_str());
  return 2;
}

}  // namespace

void add_plan(CLI::App& app, int& status) {
  auto options =
      std::make_shared<PlanOptions>();  // CLI11 keeps references to it until the program has parsed its arguments
  const auto ranks = tool_support::whole_number(0, std::numeric_limits<std::uint32_t>::max());
  CLI::App* plan = app.add_subcommand("plan", "Show the plan that a collective gets on a machine, and why");
  plan->add_option("OP", options->collective, "all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, gather, scatter, scan, barrier, ...")
      ->required();
  plan->add_option("-n,--ranks", options->ranks, "How many ranks")->required()->check(tool_support::whole_number(1, 1'000'000));
  plan->add_option("-b,--bytes", options->bytes, "Size of the larger buffer; K, M and G are powers of 1024");
  plan->add_option("--type", options->type, "Element type, e.g. f32 or bf16");
  plan->add_option("--op", options->op, "Reduction, e.g. sum or max");
  plan->add_option("--root", options->root, "Root of a broadcast or reduce")->check(ranks);
  plan->add_option("--rank", options->rank, "Whose steps to print")->check(ranks);
  plan->add_option("--algorithm", options->algorithm, "This algorithm, or no plan; RONDO_ALGORITHM is one to prefer where it serves");
  plan->add_option("--topology", options->topology,
                   "An XML file of hwloc's or NCCL's, a topology in JSON, a fabric such as 'dgx-h100*4', or a synthetic string; default: this machine");
  plan->add_option("--latency", options->latency_ns, "Nanoseconds that a flag takes from rank to rank; default: the topology's figure")
      ->check(tool_support::decimal_number(0.1, 1e9));
  plan->add_option("--format", options->format, "text, or the whole plan in json, as MSCCL XML (msccl) or as MSCCL++ JSON (mscclpp)")
      ->check(CLI::IsMember({"text", "json", "msccl", "mscclpp"}));
  plan->add_flag("--in-place", options->in_place, "Input and output share memory");
  plan->add_flag("--symmetric", options->symmetric, "Input and output lie in memory that the other ranks have mapped (Communicator::allocate)");
  plan->add_flag("--kernel-copies", options->kernel_copies,
                 "The ranks are processes between whose memory the kernel copies ('rondo doctor' says whether it does)");
  plan->add_flag("--explain", options->explain, "What else was considered, and the figures behind it");
  plan->callback([options, &status] { status = finish(*options); });
}
