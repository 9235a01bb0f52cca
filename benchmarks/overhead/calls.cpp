#include "overhead/calls.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "communicator/layouts.hpp"
#include "communicator/plan_cache.hpp"
#include "executor/run.hpp"
#include "executor/run_blocks.hpp"
#include "executor/run_direct.hpp"
#include "executor/run_fetch.hpp"
#include "executor/run_inline.hpp"
#include "executor/run_links.hpp"
#include "executor/run_segments.hpp"
#include "executor/run_steps.hpp"
#include "executor/run_wire.hpp"
#include "floor/exchange.hpp"
#include "rondo/communicator.hpp"
#include "support/cores.hpp"

namespace rondo {
template class BasicRun<false>;
}

namespace overhead_bench {
namespace {

using namespace rondo;
constexpr std::uint32_t ranks = 2;

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

Memory zeroed(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t whole = (bytes + page - 1) / page * page;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(page, whole)));
  std::fill_n(memory.get(), whole, std::byte{0});
  return memory;
}

/// What each rank gives and gets, in lines of its own.
struct alignas(128) Values {
  float in[2] = {1, 2};
  float out[2] = {0, 0};
  bool right() const { return out[0] == ranks * in[0] && out[1] == ranks * in[1]; }
};

class HandWritten final : public Way {
 public:
  HandWritten() : memory_(zeroed(sizeof(floor_bench::Region))) {
    auto* region = new (memory_.get()) floor_bench::Region;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) ends_.emplace_back(*region, rank, ranks, false);
  }
  bool run(std::uint32_t rank, std::uint32_t calls) override {
    Values& values = values_[rank];
    for (std::uint32_t i = 0; i < calls; ++i) ends_[rank].tiny(values.in, values.out, 2);
    return values.right();
  }

 private:
  Memory memory_;
  std::vector<floor_bench::Exchange> ends_;
  Values values_[ranks];
};

class ThroughCommunicator final : public Way {
 public:
  explicit ThroughCommunicator(std::vector<Communicator> ends) : ends_(std::move(ends)) {}
  bool run(std::uint32_t rank, std::uint32_t calls) override {
    Values& values = values_[rank];
    for (std::uint32_t i = 0; i < calls; ++i)
      if (!ends_[rank].all_reduce(values.in, values.out, 2, DataType::f32)) return false;
    return values.right();
  }

 private:
  std::vector<Communicator> ends_;
  Values values_[ranks];
};

constexpr ContextLayout layout{4, 4, 0};

/// What the interpreters of both kinds run in, in turns.
struct Stage {
  explicit Stage(std::vector<PreparedPlan> prepared) : plans(std::move(prepared)) {
    std::vector<std::byte*> starts;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) starts.push_back(areas.emplace_back(zeroed(layout.total_bytes())).get());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) contexts.emplace_back(layout, rank, starts, std::vector<std::uint32_t>{0, 1}, nullptr);
  }
  std::vector<PreparedPlan> plans;
  std::vector<Memory> areas;
  std::vector<Context> contexts;
  Values values[ranks];
};

template <bool digests>
class Interpreted final : public SteppedWay {
 public:
  explicit Interpreted(std::shared_ptr<Stage> stage) : stage_(std::move(stage)) {}

  bool run(std::uint32_t rank, std::uint32_t calls) override {
    constexpr std::uint32_t spins = 4000;
    for (std::uint32_t i = 0; i < calls; ++i) {
      begin(rank);
      Progress progress = Progress::blocked;
      while ((progress = runs_[rank].run.advance(spins)) == Progress::blocked) {}
      if (progress != Progress::done) return false;
    }
    return stage_->values[rank].right();
  }

  bool run_both(std::uint32_t calls) override {
    for (std::uint32_t i = 0; i < calls; ++i) {
      begin(0);
      if (runs_[0].run.advance(0) != Progress::blocked) return false;
      begin(1);
      if (runs_[1].run.advance(0) != Progress::done || runs_[0].run.advance(0) != Progress::done) return false;
    }
    return stage_->values[0].right() && stage_->values[1].right();
  }

 private:
  void begin(std::uint32_t rank) {
    const PreparedPlan& plan = stage_->plans[rank];
    Values& values = stage_->values[rank];
    runs_[rank].run.begin(stage_->contexts[rank], plan.executable, plan.identity, plan.digest, Binding{values.in, values.out, 1});
  }

  struct alignas(128) Own {
    BasicRun<digests> run;
  };
  std::shared_ptr<Stage> stage_;  // shared: by the two that take turns
  Own runs_[ranks];
};

Result<PreparedPlan> inline_plan(std::uint32_t rank) {
  auto topology = read_synthetic("pu:2");
  if (!topology) return topology.error();
  topology->ranks = {RankPlace{0, 0, {0}, -1}, RankPlace{0, 0, {1}, -1}};
  PlanSource source;
  source.topology = &*topology;
  source.cost = cost_model(*topology, ranks);
  source.layout = layout;
  source.options.limits = limits_of(layout);
  source.rank = rank;
  source.ranks = ranks;
  source.options.algorithm = "inline";
  PlanCache cache(source);
  auto found = cache.find(PlanKey{2, 0, Collective::all_reduce, DataType::f32, ReduceOp::sum});
  if (!found) return found.error();
  return **found;
}

/// Both threads pass it together.
class Gate {
 public:
  void pass() {
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (here_.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
      here_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);  // pairs with the loop below
    } else {
      while (round_.load(std::memory_order_acquire) == round) {}
    }
  }

 private:
  std::atomic<std::uint32_t> here_{0};
  std::atomic<std::uint32_t> round_{0};
};

struct Measurement {
  const std::vector<Way*>& ways;
  std::uint32_t calls;
  Gate gate;
  std::atomic<bool> right{true};

  double block(Way& way, std::uint32_t rank) {
    gate.pass();
    const auto begin = std::chrono::steady_clock::now();
    if (!way.run(rank, calls)) right.store(false, std::memory_order_relaxed);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
  }

  std::vector<Round> rounds_of(std::uint32_t rank, std::uint32_t rounds) {
    std::vector<Round> all;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      Round round;
      round.ns.assign(ways.size(), 0);
      round.ns[0] = block(*ways[0], rank);
      // the order turns, so that no way always follows the same one
      for (std::size_t k = 1; k < ways.size(); ++k) {
        const std::size_t way = 1 + (k - 1 + i) % (ways.size() - 1);
        round.ns[way] = block(*ways[way], rank);
      }
      round.floor_after_ns = block(*ways[0], rank);
      all.push_back(round);
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<Way> hand_written() { return std::make_unique<HandWritten>(); }

Result<std::unique_ptr<Way>> through_the_communicator() {
  auto made = Communicator::in_process(ranks);
  if (!made) return made.error();
  return std::unique_ptr<Way>(std::make_unique<ThroughCommunicator>(std::move(*made)));
}

Result<Interpreters> interpreters() {
  std::vector<PreparedPlan> plans;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto plan = inline_plan(rank);
    if (!plan) return plan.error();
    plans.push_back(std::move(*plan));
  }
  const auto stage = std::make_shared<Stage>(std::move(plans));
  return Interpreters{std::make_unique<Interpreted<true>>(stage), std::make_unique<Interpreted<false>>(stage)};
}

Result<std::vector<double>> measure_difference(SteppedWay& first, SteppedWay& second, std::uint32_t rounds, std::uint32_t calls) {
  const auto ns_per_call = [&](SteppedWay& way, bool& right) {
    const auto begin = std::chrono::steady_clock::now();
    right &= way.run_both(calls);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls / ranks;
  };
  std::vector<double> differences;
  bool right = true;
  for (std::uint32_t i = 0; i <= rounds; ++i) {
    const double before = ns_per_call(first, right);
    const double difference = before - ns_per_call(second, right);
    if (i != 0) differences.push_back(difference);
  }
  if (!right) return Error{Errc::invalid_plan, "a call failed or gave a wrong sum", 0, "bench_overhead"};
  return differences;
}

Result<std::vector<Round>> measure(const std::vector<Way*>& ways, std::uint32_t rounds, std::uint32_t calls) {
  if (bench_support::usable_cores() < ranks)
    return Error{Errc::invalid_argument, "two processors are needed, one for each rank", 0, "bench_overhead"};
  Measurement measurement{ways, calls, {}, {}};
  measurement.right = true;
  std::atomic<bool> pinned{true};
  std::thread other([&] {
    if (!bench_support::pin_to_core(1)) pinned.store(false, std::memory_order_relaxed);
    (void)measurement.rounds_of(1, rounds + 1);
  });
  if (!bench_support::pin_to_core(0)) pinned.store(false, std::memory_order_relaxed);
  std::vector<Round> all = measurement.rounds_of(0, rounds + 1);
  other.join();
  all.erase(all.begin());  // the first holds what comes but once: page faults, plans, branch history
  if (!pinned) return Error{Errc::invalid_argument, "the ranks can't be pinned to a processor each", 0, "bench_overhead"};
  if (!measurement.right) return Error{Errc::invalid_plan, "a call failed or gave a wrong sum", 0, "bench_overhead"};
  return all;
}

}  // namespace overhead_bench
