#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <stdexcept>

namespace {

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

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  CLI::App app{"rondo-bench: times a collective as nccl-tests does, and checks its results"};
  Options options;
  std::string collective, min = "8", max = "64M", step, type = "f32", op = "sum";
  int check = 1;
  app.add_option("OP", collective, "all_reduce, reduce, broadcast, reduce_scatter, all_gather or barrier")->required();
  app.add_option("-n,--ranks", options.ranks, "local ranks to start (none: one rank of the job that the environment describes)")->check(CLI::Range(1, 4096));
  app.add_flag("--threads", options.threads, "ranks are threads of one process");
  app.add_flag("!--no-bind", options.bind, "don't bind rank r to processor r (done when there are enough)");
  app.add_option("-b,--minbytes", min, "smallest size");
  app.add_option("-e,--maxbytes", max, "largest size");
  app.add_option("-i,--stepbytes", step, "additive step between sizes");
  app.add_option("-f,--stepfactor", options.factor, "factor between sizes")->check(CLI::Range(1.001, 1e6));
  app.add_option("--iters", options.iterations, "iterations a measurement (0: chosen for a steady one)");
  app.add_option("-w,--warmup_iters", options.warmup, "iterations before the clock starts");
  app.add_option("-c,--check", check, "0: don't check results")->check(CLI::Range(0, 1));
  app.add_option("-d,--datatype", type, "element type");
  app.add_option("-o,--op", op, "reduction");
  app.add_option("-r,--root", options.root, "root of broadcast and reduce");
  app.add_option("--plan", options.plan_file, "run exactly this plan (Rondo JSON, MSCCL XML or MSCCL++ JSON)");
  app.add_flag("--unverified", options.unverified, "run --plan without proving it");
  app.add_option("--deadline", options.deadline_s, "seconds after which an operation counts as stuck")->check(CLI::Range(0.001, 1e6));
  app.add_option("--algorithm", options.algorithm, "force an algorithm");
  app.add_option("--transport", options.transport, "shm or ucx");
  app.add_flag("--touch", options.touch, "owners write their buffers between iterations");
  app.add_flag("--percentiles", options.percentiles, "also time single calls: 50, 90, 99 percent");
  app.add_option("--json", options.json_file, "also write the rows to this file");
  app.set_version_flag("--version", "rondo-bench 0.1.0");
  try {
    app.parse(argc, argv);
    options.collective = value_or_throw("OP", rondo::parse_collective(collective));
    if (options.collective == rondo::Collective::all_to_all || options.collective == rondo::Collective::send_recv)
      throw CLI::ValidationError(
          "OP",
          "'" + collective +
              "' is not measured yet; accepted: all_reduce, reduce, broadcast, reduce_scatter, all_gather, barrier");
    options.min_bytes = parse_size("-b", min);
    options.max_bytes = parse_size("-e", max);
    if (!step.empty()) options.step_bytes = parse_size("-i", step);
    options.type = value_or_throw("-d", rondo::parse_data_type(type));
    options.op = value_or_throw("-o", rondo::parse_reduce_op(op));
    options.check = check != 0;
    if (options.min_bytes > options.max_bytes) throw CLI::ValidationError("-b", min + " is above -e " + max);
    if (!rondo::is_defined(options.op, options.type) && rondo::is_reduction(options.collective))
      throw CLI::ValidationError("-o", op + " is not defined on " + type + "; accepted: integer types");
    if (options.unverified && options.plan_file.empty()) throw CLI::ValidationError("--unverified", "needs --plan FILE");
    if (options.threads && options.ranks == 0) throw CLI::ValidationError("--threads", "needs -n N");
    if (options.ranks != 0 && options.root >= options.ranks)
      throw CLI::ValidationError("-r", std::to_string(options.root) + " is not below " + std::to_string(options.ranks) + " ranks");
    return options;
  } catch (const CLI::Success& done) {
    status = app.exit(done);
  } catch (const CLI::ExtrasError& error) {
    std::fprintf(stderr, "rondo-bench: %s; rondo-bench --help lists what is accepted\n", error.what());
    status = 2;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "rondo-bench: %s\n", error.what());
    status = 2;
  }
  return std::nullopt;
}
