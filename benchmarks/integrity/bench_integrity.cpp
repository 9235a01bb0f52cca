// bench_integrity: collectives with checksums and without. Two jobs of as many processes, a process of each on each core, take turns: while one measures
// a block of calls the other one sleeps. Both have the same share of shared memory, and run plans of their own choice.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "support/cores.hpp"
#include "support/median.hpp"
#include "support/processes.hpp"
#include "tools/support/flags.hpp"

namespace {

using namespace rondo;
using bench_support::median;
using Clock = std::chrono::steady_clock;

constexpr std::array operations{Collective::all_reduce, Collective::reduce, Collective::reduce_scatter, Collective::all_gather, Collective::broadcast,
                                Collective::all_to_all};
constexpr double block_us = 20'000;

struct Options {
  std::uint32_t ranks = 2;
  std::uint32_t rounds = 21;
  std::vector<std::uint64_t> sizes = {8, 64u << 10, 1u << 20, 4u << 20, 16u << 20, 64u << 20};
};

/// Whose turn it is: a pipe for each process, into which whoever measured before it writes a byte.
class Turns {
 public:
  explicit Turns(std::uint32_t processes) : pipes_(processes) {
    for (auto& ends : pipes_)
      if (pipe(ends.data()) != 0) {
        std::perror("bench_integrity: pipe");
        std::exit(1);
      }
  }
  void give(std::uint32_t process) const {
    if (write(pipes_[process][1], "", 1) != 1) std::_Exit(1);
  }
  void await(std::uint32_t process) const {
    char byte;
    if (read(pipes_[process][0], &byte, 1) != 1) std::_Exit(1);
  }

 private:
  std::vector<std::array<int, 2>> pipes_;
};

/// What one job measured of one size and mode, by round.
struct Measured {
  static constexpr std::uint32_t most_rounds = 1000;
  double us[2][most_rounds];
  char plan[2][32];
};

class Rank {
 public:
  Rank(Communicator& communicator, bool checked, const Options& options, const Turns& turns, Measured& measured)
      : communicator_(communicator), checked_(checked), options_(options), turns_(turns), measured_(measured) {}

  void run() {
    for (const Collective operation : operations)
      for (const std::uint64_t bytes : options_.sizes)
        for (const bool in_place : {false, true}) measure(operation, bytes, in_place);
  }

 private:
  void require(const Result<void>& done) {
    if (done) return;
    std::fprintf(stderr, "bench_integrity: rank %u: %s\n", communicator_.rank(), to_string(done.error()).c_str());
    std::_Exit(1);
  }

  /// `bytes` are of the larger buffer, as in other benchmarks.
  Call call_of(Collective operation, std::uint64_t bytes, bool in_place) {
    const BlockCounts blocks = block_counts(operation, communicator_.size());
    const std::uint64_t elements = std::max<std::uint64_t>(1, bytes / 4 / std::max(blocks.input, blocks.output));
    const std::uint64_t longest = elements * std::max(blocks.input, blocks.output);
    if (input_.size() < longest) input_.assign(longest, 1), output_.assign(longest, 0);
    Call call{operation, input_.data(), output_.data(), elements};
    const std::uint64_t own = communicator_.rank() * elements;
    if (in_place) {
      call.input = output_.data() + (blocks.output > blocks.input ? own : 0);
      call.output = output_.data() + (blocks.input > blocks.output ? own : 0);
    }
    return call;
  }

  double block(const Call& call, std::uint64_t calls) {
    require(communicator_.barrier());
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) require(communicator_.run(call));
    const double own = std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / static_cast<double>(calls);
    double most = 0;
    require(communicator_.all_reduce(&own, &most, 1, DataType::f64, ReduceOp::max));
    return most;
  }

  void measure(Collective operation, std::uint64_t bytes, bool in_place) {
    const Call call = call_of(operation, bytes, in_place);
    std::uint64_t calls = 1;
    for (std::uint32_t round = 0; round <= options_.rounds; ++round) {
      turns_.await(process());
      if (round == 0) {
        if (auto plan = communicator_.plan_for(call); plan && communicator_.rank() == 0)
          std::snprintf(measured_.plan[checked_], sizeof measured_.plan[0], "%s", plan->header.algorithm.c_str());
        (void)block(call, 3);
        calls = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(block_us / block(call, 5)), 1, 100'000);
      } else {
        (void)block(call, std::max<std::uint64_t>(1, calls / 10));  // the other job's data leave the caches
        measured_.us[checked_][round - 1] = block(call, calls);
      }
      require(communicator_.barrier());
      if (communicator_.rank() != 0) continue;
      if (checked_ && round == options_.rounds) report(operation, bytes, in_place);
      for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) turns_.give((checked_ ? 0 : options_.ranks) + rank);
    }
  }

  void report(Collective operation, std::uint64_t bytes, bool in_place) const {
    std::vector<double> plain, checked, ratios;
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      plain.push_back(measured_.us[0][round]);
      checked.push_back(measured_.us[1][round]);
      ratios.push_back(checked.back() / plain.back());
    }
    std::sort(ratios.begin(), ratios.end());
    std::printf("%-14s %10lu %-12s %10.2f %10.2f   %5.3f  (%5.3f to %5.3f)   %s, %s\n", std::string(to_string(operation)).c_str(), bytes,
                in_place ? "in place" : "out of place", median(plain), median(checked), median(ratios), ratios[ratios.size() / 4],
                ratios[ratios.size() * 3 / 4], measured_.plan[0], measured_.plan[1]);
    std::fflush(stdout);
  }

  std::uint32_t process() const { return (checked_ ? options_.ranks : 0) + communicator_.rank(); }

  Communicator& communicator_;
  bool checked_;
  const Options& options_;
  const Turns& turns_;
  Measured& measured_;
  std::vector<float> input_, output_;
};

int run_process(std::uint32_t process, const Options& options, const std::string& job, const Turns& turns, Measured& measured) {
  const std::uint32_t rank = process % options.ranks;
  const bool checked = process >= options.ranks;
  bench_support::pin_to_core(rank);
  CommunicatorOptions choices;
  choices.integrity = checked;
  auto communicator = Communicator::local(rank, options.ranks, job + (checked ? "-checked" : ""), choices);
  if (!communicator) {
    std::fprintf(stderr, "bench_integrity: rank %u: %s\n", rank, to_string(communicator.error()).c_str());
    return 1;
  }
  Rank(*communicator, checked, options, turns, measured).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"What checksums of all that passes between ranks cost"};
  app.add_option("-n,--ranks", options.ranks, "ranks of each job, as processes")->check(tool_support::whole_number(2, 64));
  app.add_option("--rounds", options.rounds, "turns of each job; medians are printed")->check(tool_support::whole_number(1, Measured::most_rounds));
  app.add_option("--sizes", options.sizes, "bytes of the larger buffer; several are measured one after the other")
      ->check(tool_support::whole_number(4, std::uint64_t{1} << 34));
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "bench_integrity", status)) return status;
  auto* measured = static_cast<Measured*>(mmap(nullptr, sizeof(Measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (measured == MAP_FAILED) {
    std::perror("bench_integrity: mmap");
    return 1;
  }
  const Turns turns(2 * options.ranks);
  std::printf("%u ranks; us a call without and with checksums, medians of %u rounds, and of their ratios (quartiles); the plans of both\n", options.ranks,
              options.rounds);
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) turns.give(rank);
  const std::string job = "bench-integrity-" + std::to_string(getpid());
  const auto ended =
      bench_support::run_as_processes(2 * options.ranks, [&](std::uint32_t process) { return run_process(process, options, job, turns, *measured); });
  return ended == bench_support::Ended::well ? 0 : 1;
}
