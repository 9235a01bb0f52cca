#include "trial.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "floor.hpp"
#include "rondo/communicator.hpp"
#include "rondo/planner.hpp"
#include "support/clock.hpp"
#include "support/cores.hpp"
#include "support/processes.hpp"

namespace predict {
namespace {

using namespace rondo;
using bench_support::Clock;
using bench_support::ns_since;

constexpr std::uint32_t batches = 5;
constexpr std::uint32_t most_iterations = 20'000;
constexpr double moved = 1.35;  ///< a floor that changed by more is another state's
constexpr std::uint64_t apart = 64u << 10;  ///< between buffers, so that none shares a page with another

/// What ranks hand to the parent: zeroed, each number written by one rank, read once all have ended.
class Board {
 public:
  Board(std::uint32_t ranks, std::size_t cases, std::size_t algorithms)
      : cases_(cases), algorithms_(algorithms), bytes_(algorithms * sizeof(FlagPair) + (ranks * batches + planes) * cases * algorithms * sizeof(double)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) flags_ = static_cast<FlagPair*>(memory);
    numbers_ = reinterpret_cast<double*>(flags_ + algorithms);
  }
  ~Board() {
    if (flags_ != nullptr) munmap(flags_, bytes_);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  bool there() const { return flags_ != nullptr; }
  FlagPair& flags(std::size_t algorithm) { return flags_[algorithm]; }  ///< zeroed: for one communicator
  double& serves(std::size_t of_case, std::size_t algorithm) { return number(0, of_case, algorithm); }
  double& chosen(std::size_t of_case, std::size_t algorithm) { return number(1, of_case, algorithm); }
  double& time(std::uint32_t rank, std::uint32_t batch, std::size_t of_case, std::size_t algorithm) {
    return number(planes + rank * batches + batch, of_case, algorithm);
  }
  double& floor(std::size_t of_case, std::size_t algorithm) { return number(2, of_case, algorithm); }

 private:
  static constexpr std::size_t planes = 3;
  double& number(std::size_t plane, std::size_t of_case, std::size_t algorithm) { return numbers_[(plane * cases_ + of_case) * algorithms_ + algorithm]; }

  std::size_t cases_, algorithms_, bytes_;
  FlagPair* flags_ = nullptr;
  double* numbers_ = nullptr;
};

/// One rank's buffers, touched, for the largest case.
class Buffers {
 public:
  Buffers(Communicator& communicator, const Settings& settings, std::uint64_t bytes) : in_place_(settings.in_place) {
    const std::uint64_t all = (bytes + apart) * (in_place_ ? 1 : 2);
    if (settings.symmetric) {
      if (auto taken = communicator.allocate(all)) memory_ = std::move(*taken);
    } else {
      memory_.reset(std::malloc(all), std::free);
    }
    if (memory_) std::memset(memory_.get(), 0, all);
    second_ = in_place_ ? 0 : bytes + apart;
  }
  bool there() const { return memory_ != nullptr; }

  void bind(Call& call, std::uint32_t rank) const {
    char* first = static_cast<char*>(memory_.get());
    const std::uint64_t own = rank * call.count * size_of(call.type);
    call.input = first + (in_place_ && input_is_block(call.collective) ? own : 0);
    call.output = first + second_ + (in_place_ && output_is_block(call.collective) ? own : 0);
  }

 private:
  bool in_place_;
  std::shared_ptr<void> memory_;
  std::uint64_t second_ = 0;
};

Call call_of(const Case& what, std::uint32_t ranks) {
  const BlockCounts blocks = block_counts(what.collective, ranks);
  Call call;
  call.collective = what.collective;
  call.count = what.bytes / size_of(call.type) / std::max(1u, std::max(blocks.input, blocks.output));
  return call;
}

/// Calls of one case in turns of `iterations`. Roots rotate, as nobody broadcasts from one rank for ever.
class Timer {
 public:
  Timer(Communicator& communicator, Call call, bool touched) : communicator_(communicator), call_(call), touched_(touched) {}

  /// What a call takes on the average; where buffers are rewritten, on the rank that takes longest in it.
  Result<double> time(std::uint32_t iterations) {
    if (auto met = communicator_.barrier(); !met) return met.error();
    if (touched_) return time_of_rewritten(iterations);
    const auto begin = Clock::now();
    for (std::uint32_t i = 0; i < iterations; ++i)
      if (auto done = next(); !done) return done.error();
    return ns_since(begin) / iterations;
  }

  /// So many that a batch lasts long enough, the same on all ranks.
  Result<std::uint32_t> iterations(double batch_ms) {
    if (auto warm = time(4); !warm) return warm.error();
    auto once = time(4);
    if (!once) return once.error();
    double slowest = *once;
    if (auto shared = communicator_.all_reduce(&slowest, &slowest, 1, DataType::f64, ReduceOp::max); !shared) return shared.error();
    return static_cast<std::uint32_t>(std::clamp(batch_ms * 1e6 / std::max(slowest, 10.0), 4.0, double{most_iterations}));
  }

 private:
  Result<void> next() {
    if (is_rooted(call_.collective)) call_.root = call_.root + 1 == communicator_.size() ? 0 : call_.root + 1;
    return communicator_.run(call_);
  }

  /// Ranks meet before each call, which else would take longer where another one is still rewriting.
  Result<double> time_of_rewritten(std::uint32_t iterations) {
    std::vector<double> calls;
    calls.reserve(iterations);
    for (std::uint32_t i = 0; i < iterations; ++i) {
      rewrite_input(static_cast<float>(i & 3));
      if (auto met = communicator_.barrier(); !met) return met.error();
      const auto begin = Clock::now();
      if (auto done = next(); !done) return done.error();
      calls.push_back(ns_since(begin));
    }
    if (auto shared = communicator_.all_reduce(calls.data(), calls.data(), iterations, DataType::f64, ReduceOp::max); !shared) return shared.error();
    return std::accumulate(calls.begin(), calls.end(), 0.0) / iterations;
  }

  void rewrite_input(float value) {
    auto* input = static_cast<float*>(const_cast<void*>(call_.input));  // of f32, and the caller's own
    std::fill_n(input, call_.count * block_counts(call_.collective, communicator_.size()).input, value);
  }

  Communicator& communicator_;
  Call call_;
  bool touched_;
};

Result<Communicator> join(const Settings& settings, std::uint32_t rank, const std::string& job, std::string_view algorithm) {
  if (settings.ranks <= bench_support::usable_cores()) (void)bench_support::pin_to_core(rank);  // refused: it runs where the system puts it
  CommunicatorOptions options;
  options.algorithm = algorithm;
  options.timeout = std::chrono::seconds(60);
  options.bootstrap_timeout = std::chrono::seconds(60);
  return Communicator::local(rank, settings.ranks, job, options);
}

/// What a rank does with its communicator.
using Work = std::function<Result<void>(Communicator&)>;

/// All ranks of one communicator, from their start to their end.
Result<void> run_fleet(const Settings& settings, std::string_view algorithm, const Work& work) {
  static std::uint32_t fleets = 0;
  const std::string job = "bench_predict/" + std::to_string(getpid()) + "/" + std::to_string(fleets++);
  const auto ended = bench_support::run_as_processes(settings.ranks, [&](std::uint32_t rank) {
    auto communicator = join(settings, rank, job, algorithm);
    const Result<void> done = communicator ? work(*communicator) : Result<void>(communicator.error());
    if (!done) std::fprintf(stderr, "bench_predict: rank %u: %s\n", rank, to_string(done.error()).c_str());
    return done ? 0 : 1;
  });
  if (ended == bench_support::Ended::not_started)
    return Error{Errc::out_of_resources, "cannot start " + std::to_string(settings.ranks) + " processes (limit: ulimit -u)"};
  if (ended == bench_support::Ended::failed)
    return Error{Errc::peer_failed, "a rank failed" + (algorithm.empty() ? std::string() : " that ran " + std::string(algorithm))};
  return {};
}

Result<Buffers> make_buffers(const Settings& settings, const std::vector<Case>& cases, Communicator& communicator) {
  std::uint64_t most = 0;
  for (const Case& what : cases) most = std::max(most, what.bytes);
  Buffers buffers(communicator, settings, most);
  if (!buffers.there()) return Error{Errc::out_of_resources, "no memory for buffers of " + std::to_string(most) + " bytes; take smaller --sizes"};
  return buffers;
}

/// What a communicator that nothing is forced on plans, and which algorithms serve at all.
Result<void> choose_all(const Settings& settings, const std::vector<Case>& cases, Communicator& communicator, Board& board) {
  auto buffers = make_buffers(settings, cases, communicator);
  if (!buffers) return buffers.error();
  const auto names = algorithm_names();
  for (std::size_t k = 0; k < cases.size(); ++k) {
    Call call = call_of(cases[k], settings.ranks);
    buffers->bind(call, communicator.rank());
    auto plan = communicator.plan_for(call);
    if (!plan) return plan.error();
    if (communicator.rank() != 0) continue;
    for (const Candidate& candidate : plan->considered) {
      const auto algorithm = static_cast<std::size_t>(std::find(names.begin(), names.end(), candidate.algorithm) - names.begin());
      board.serves(k, algorithm) = candidate.predicted_ns != 0 ? 1 : 0;
      board.chosen(k, algorithm) = candidate.algorithm == plan->header.algorithm ? 1 : 0;
    }
  }
  return communicator.barrier();
}

/// One rank: all cases by one algorithm, as far as it serves.
Result<void> measure(const Settings& settings, const std::vector<Case>& cases, Communicator& communicator, std::string_view name, std::size_t algorithm,
                     Board& board) {
  auto buffers = make_buffers(settings, cases, communicator);
  if (!buffers) return buffers.error();
  const bool crowded = settings.ranks > bench_support::usable_cores();
  Floor flag(board.flags(algorithm), communicator.rank(), communicator.size());
  const double first = crowded ? 0 : flag.measure();
  for (std::size_t k = 0; k < cases.size(); ++k) {
    if (board.serves(k, algorithm) == 0) continue;
    Call call = call_of(cases[k], settings.ranks);
    buffers->bind(call, communicator.rank());
    auto plan = communicator.plan_for(call);
    if (!plan) return plan.error();
    const PlanHeader& header = plan->header;
    if (header.algorithm != name || !(settings.in_place ? header.in_place : header.out_of_place)) continue;
    if (!crowded)
      if (const double before = flag.measure(); communicator.rank() == 0) board.floor(k, algorithm) = before;
    Timer timer(communicator, call, settings.touched);
    auto iterations = timer.iterations(settings.batch_ms);
    if (!iterations) return iterations.error();
    for (std::uint32_t batch = 0; batch < batches; ++batch) {
      auto ns = timer.time(*iterations);
      if (!ns) return ns.error();
      board.time(communicator.rank(), batch, k, algorithm) = *ns;
    }
    if (crowded) continue;
    // The prediction is of the communicator's beginning, when it probed.
    const double after = flag.measure(), before = board.floor(k, algorithm);
    if (communicator.rank() != 0) continue;
    if (std::max({first, before, after}) > moved * std::min({first, before, after})) board.floor(k, algorithm) = -1;
  }
  return communicator.barrier();
}

double best_batch(Board& board, std::uint32_t ranks, std::size_t of_case, std::size_t algorithm) {
  double best = 0;
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    double slowest = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) slowest = std::max(slowest, board.time(rank, batch, of_case, algorithm));
    best = batch == 0 ? slowest : std::min(best, slowest);
  }
  return best;
}

}  // namespace

Result<Round> run_round(const Settings& settings, const std::vector<Case>& cases) {
  const auto names = algorithm_names();
  Board board(settings.ranks, cases.size(), names.size());
  if (!board.there()) return Error{Errc::out_of_resources, "no memory for the results"};
  auto chosen = run_fleet(settings, "", [&](Communicator& communicator) { return choose_all(settings, cases, communicator, board); });
  if (!chosen) return chosen.error();
  for (std::size_t algorithm = 0; algorithm < names.size(); ++algorithm) {
    bool serves = false;
    for (std::size_t k = 0; k < cases.size(); ++k) serves |= board.serves(k, algorithm) != 0;
    if (!serves) continue;
    auto measured = run_fleet(settings, names[algorithm], [&](Communicator& communicator) {
      return measure(settings, cases, communicator, names[algorithm], algorithm, board);
    });
    if (!measured) return measured.error();
  }
  Round round;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    auto& row = round.emplace_back();
    for (std::size_t algorithm = 0; algorithm < names.size(); ++algorithm)
      row.push_back({board.floor(k, algorithm) < 0 ? 0 : best_batch(board, settings.ranks, k, algorithm), board.floor(k, algorithm),
                     board.chosen(k, algorithm) != 0});
  }
  return round;
}

}  // namespace predict
