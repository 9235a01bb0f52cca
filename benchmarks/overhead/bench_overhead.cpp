// bench_overhead: what going through a plan costs. An 8-byte all-reduce between two threads: by hand, by the communicator,
// by the interpreter with and without the digest, in alternating blocks; then planning and compiling.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "overhead/calls.hpp"
#include "overhead/figures.hpp"
#include "overhead/planning.hpp"
#include "rondo/planning.hpp"
#include "tools/support/flags.hpp"

namespace {

using namespace overhead_bench;

// Between the two states of docs/design/0003-cost-model.md: cores that share a cache, and cores that don't.
constexpr double near_below_ns = 120;
constexpr double flipped = 1.4;  // a floor that changed by more spoils its round

struct Options {
  std::uint32_t placements = 9;
  std::uint32_t rounds = 5;
  std::uint32_t calls = 50'000;
  std::string json;
};

void print(const char* what, const Spread& spread, const char* unit) {
  std::printf("  %-46s %8.2f %s  (quartiles %.2f, %.2f)\n", what, spread.median, unit, spread.low, spread.high);
}

nlohmann::json to_json(const Spread& spread) { return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}}; }

/// One state's rounds: ways are hand-written, communicator, interpreter with digest, without.
nlohmann::json report(const char* state, const std::vector<Round>& rounds) {
  std::vector<double> floor, communicator, digest;
  for (const Round& round : rounds) {
    floor.push_back(round.ns[0]);
    communicator.push_back(round.ns[1] / ((round.ns[0] + round.floor_after_ns) / 2));
    digest.push_back(round.ns[2] - round.ns[3]);
  }
  std::printf("cores %s: %zu rounds\n", state, rounds.size());
  print("8 bytes by hand", spread_of(floor), "ns");
  print("8 bytes by Communicator::all_reduce, to by hand", spread_of(communicator), "x ");
  print("the digest, two threads", spread_of(digest), "ns");
  return {{"state", state}, {"rounds", rounds.size()}, {"floor_ns", to_json(spread_of(floor))},
          {"communicator_to_floor", to_json(spread_of(communicator))}, {"digest_ns", to_json(spread_of(digest))}};
}

struct Measured {
  std::vector<double> digest;
  std::vector<Round> rounds;
  std::vector<std::unique_ptr<Way>> kept;  ///< ways that were measured: their memory isn't given to the next ones
};

/// Every way in memory of its own, made anew: where its lines lie in a shared cache moves a call's time by half.
rondo::Result<void> measure_placement(const Options& options, Measured& measured) {
  auto communicator = through_the_communicator();
  if (!communicator) return communicator.error();
  auto alone = interpreters();
  if (!alone) return alone.error();
  auto floor = hand_written();
  auto digest = measure_difference(*alone->with_digest, *alone->without_digest, options.rounds, options.calls);
  if (!digest) return digest.error();
  auto rounds = measure({floor.get(), communicator->get(), alone->with_digest.get(), alone->without_digest.get()}, options.rounds, options.calls);
  if (!rounds) return rounds.error();
  measured.kept.push_back(std::move(floor));
  measured.kept.push_back(std::move(*communicator));
  measured.kept.push_back(std::move(alone->with_digest));
  measured.kept.push_back(std::move(alone->without_digest));
  measured.digest.insert(measured.digest.end(), digest->begin(), digest->end());
  measured.rounds.insert(measured.rounds.end(), rounds->begin(), rounds->end());
  return {};
}

rondo::Result<nlohmann::json> calls_report(const Options& options) {
  Measured measured;
  for (std::uint32_t placement = 0; placement < options.placements; ++placement)
    if (auto done = measure_placement(options, measured); !done) return done.error();
  std::printf("one thread as both ranks\n");
  print("the digest's instructions", spread_of(measured.digest), "ns");
  std::vector<Round> near, far;
  std::size_t spoilt = 0;
  for (const Round& round : measured.rounds) {
    const double before = round.ns[0], after = round.floor_after_ns;
    if (before > flipped * after || after > flipped * before) ++spoilt;
    else (before < near_below_ns ? near : far).push_back(round);
  }
  nlohmann::json all = nlohmann::json::array();
  all.push_back({{"state", "one thread as both ranks"}, {"digest_ns", to_json(spread_of(measured.digest))}});
  if (!near.empty()) all.push_back(report("near", near));
  if (!far.empty()) all.push_back(report("far", far));
  if (spoilt != 0) std::printf("%zu rounds left out: the cores moved\n", spoilt);
  return all;
}

rondo::Result<nlohmann::json> planning_report() {
  constexpr std::uint32_t repeats = 101;
  nlohmann::json all = nlohmann::json::array();
  std::printf("planning and compiling an f32 all-reduce\n");
  for (const std::uint32_t ranks : {2u, 4u, 8u, 64u})
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{16} << 10, std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
      auto time = time_planning(ranks, bytes, repeats);
      if (!time) return time.error();
      print((std::to_string(ranks) + " ranks, " + std::to_string(bytes) + " bytes, " + time->algorithm).c_str(), time->us, "us");
      all.push_back({{"ranks", ranks}, {"bytes", bytes}, {"algorithm", time->algorithm}, {"us", to_json(time->us)}});
    }
  return all;
}

int fail(const rondo::Error& error, int status = 1) {
  std::fprintf(stderr, "bench_overhead: %s\n", rondo::to_string(error).c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  using tool_support::whole_number;
  Options options;
  CLI::App app{"What going through a plan costs: tiny calls against hand-written ones, the digest, planning and compiling."};
  app.add_option("--placements", options.placements, "times that all memory is allocated anew")->check(whole_number(1, 1000))->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds of alternating blocks in each placement")->check(whole_number(1, 100'000))->capture_default_str();
  app.add_option("--calls", options.calls, "calls in a block")->check(whole_number(1, 100'000'000))->capture_default_str();
  app.add_option("--json", options.json, "write the figures to this file");
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "bench_overhead", status)) return status;
  if (auto environment = rondo::planning_options(1); !environment) return fail(environment.error(), 2);
  auto calls = calls_report(options);
  if (!calls) return fail(calls.error());
  auto planning = planning_report();
  if (!planning) return fail(planning.error());
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << nlohmann::json{{"tiny_calls", *calls}, {"planning", *planning}}.dump(2) << "\n";
  if (file.flush()) return 0;
  std::fprintf(stderr, "bench_overhead: cannot write '%s'\n", options.json.c_str());
  return 1;
}
