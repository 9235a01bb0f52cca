#include "verifier/mutants.hpp"

#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace rondo::test {
namespace {

class Breeder {
 public:
  explicit Breeder(const Plan& plan) : header_(plan.header) {
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) programs_.push_back(plan.program(rank));
  }

  /// One change to one step: all of them, or those whose numbers are `wanted`, in that order.
  std::vector<Mutant> breed(const std::vector<std::size_t>* wanted = nullptr) {
    for (std::size_t k = 0; wanted != nullptr && k < wanted->size(); ++k) places_[(*wanted)[k]] = k;
    if (wanted != nullptr) mutants_.resize(wanted->size());
    all_ = wanted == nullptr;
    go_through();
    return std::move(mutants_);
  }

  /// How many breed() gives.
  std::size_t count() {
    all_ = false;
    go_through();
    return number_;
  }

  std::vector<Mutant> breed_depths() {
    for (const std::uint32_t depth : {header_.depth - 1, header_.depth + 1}) {
      if (depth == 0) continue;
      PlanHeader changed = header_;
      changed.depth = depth;
      mutants_.push_back({"depth " + std::to_string(depth), Plan(changed, programs_)});
    }
    return std::move(mutants_);
  }

 private:
  void go_through() {
    for (rank_ = 0; rank_ < header_.ranks; ++rank_)
      for (lane_ = 0; lane_ < programs_[rank_].lanes.size(); ++lane_)
        for (step_ = 0; step_ < steps().size(); ++step_) {
          change_order();
          const Step& step = steps()[step_];
          if (step.kind == StepKind::wait) change_wait();
          for (std::size_t k = 0; k < step.sources.size(); ++k) change_operand(true, k);
          for (std::size_t k = 0; k < step.destinations.size(); ++k) change_operand(false, k);
          change_rest();
        }
  }

  const std::vector<Step>& steps() const { return programs_[rank_].lanes[lane_].steps; }

  /// Adds the plan in which `change` was done to the current lane's steps.
  void add(const std::string& what, const std::function<void(std::vector<Step>&)>& change) {
    const auto place = places_.find(number_++);
    if (!all_ && place == places_.end()) return;
    std::vector<Program> programs = programs_;
    change(programs[rank_].lanes[lane_].steps);
    const std::string at = "rank " + std::to_string(rank_) + ", lane " + std::to_string(lane_) + ", step " +
                           std::to_string(step_) + " (" + describe(steps()[step_]) + "): ";
    Mutant mutant{at + what, Plan(header_, std::move(programs))};
    if (all_) mutants_.push_back(std::move(mutant));
    else mutants_[place->second] = std::move(mutant);
  }

  void add_step(const std::string& what, const std::function<void(Step&)>& change) {
    add(what, [&](std::vector<Step>& steps) { change(steps[step_]); });
  }

  void change_order() {
    const auto at = static_cast<std::ptrdiff_t>(step_);
    add("dropped", [&](std::vector<Step>& steps) { steps.erase(steps.begin() + at); });
    add("doubled", [&](std::vector<Step>& steps) { steps.insert(steps.begin() + at, Step(steps[step_])); });
    if (step_ + 1 < steps().size() && !(steps()[step_] == steps()[step_ + 1]))
      add("swapped with the next", [&](std::vector<Step>& steps) { std::swap(steps[step_], steps[step_ + 1]); });
  }

  void change_wait() {
    const WaitFor wait = steps()[step_].wait;
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank)
      if (rank != wait.rank)
        add_step("waits for rank " + std::to_string(rank), [&](Step& step) { step.wait.rank = rank; });
    nudge("lane", &WaitFor::lane, wait.lane);
    nudge("signal", &WaitFor::signal, wait.signal);
    nudge("lag", &WaitFor::lag, wait.lag);
  }

  void nudge(const std::string& name, std::uint32_t WaitFor::*field, std::uint32_t value) {
    add_step(name + " + 1", [&](Step& step) { step.wait.*field = value + 1; });
    if (value > 0) add_step(name + " - 1", [&](Step& step) { step.wait.*field = value - 1; });
  }

  void change_operand(bool source, std::size_t k) {
    const auto pick = [source, k](Step& step) -> Operand& { return (source ? step.sources : step.destinations)[k]; };
    const Operand& operand = (source ? steps()[step_].sources : steps()[step_].destinations)[k];
    const std::string name = std::string(source ? "source " : "destination ") + std::to_string(k);
    add_step(name + " one chunk on", [&](Step& step) { ++pick(step).index; });
    if (operand.index > 0) add_step(name + " one chunk back", [&](Step& step) { --pick(step).index; });
    const std::uint32_t owner = operand.rank == self ? static_cast<std::uint32_t>(rank_) : operand.rank;
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank)
      if (rank != owner)
        add_step(name + " at rank " + std::to_string(rank), [&](Step& step) { pick(step).rank = rank; });
    if (operand.buffer == Buffer::link) return;
    for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch})
      if (buffer != operand.buffer)
        add_step(name + " in " + std::string(to_string(buffer)), [&](Step& step) { pick(step).buffer = buffer; });
  }

  void change_rest() {
    const Step& step = steps()[step_];
    if (step.kind == StepKind::reduce || (step.kind == StepKind::copy && is_reduction(header_.collective)))
      add_step(step.finish ? "doesn't finish" : "finishes", [](Step& changed) { changed.finish = !changed.finish; });
    for (std::size_t k = 0; k < step.after.size(); ++k) {
      const auto at = static_cast<std::ptrdiff_t>(k);
      add_step("after dropped", [&](Step& changed) { changed.after.erase(changed.after.begin() + at); });
    }
    for (std::size_t k = 0; k < step.sources.size() && step.kind == StepKind::reduce; ++k) {
      const auto at = static_cast<std::ptrdiff_t>(k);
      add_step("without source " + std::to_string(k), [&](Step& changed) {
        changed.sources.erase(changed.sources.begin() + at);
        if (changed.sources.size() > 1) return;
        changed.kind = StepKind::copy;
        changed.finish = false;
      });
    }
    for (std::size_t k = 0; k < step.destinations.size() && step.destinations.size() > 1; ++k) {
      const auto at = static_cast<std::ptrdiff_t>(k);
      add_step("without destination " + std::to_string(k),
               [&](Step& changed) { changed.destinations.erase(changed.destinations.begin() + at); });
    }
    if (!step.sources.empty()) {
      add_step("a chunk more", [](Step& changed) { resize(changed, changed.sources[0].count + 1); });
      if (step.sources[0].count > 1)
        add_step("a chunk less", [](Step& changed) { resize(changed, changed.sources[0].count - 1); });
    }
    if (step.once) {
      add_step("done by all", [](Step& changed) { changed.once.reset(); });
      add_step("by the next word", [](Step& changed) { ++changed.once->index; });
      add_step("by another rank's word", [&](Step& changed) { changed.once->rank = (changed.once->rank + 1) % header_.ranks; });
    }
    add_step("skew + 1", [](Step& changed) { ++changed.skew; });
    if (step.skew > 0) add_step("skew - 1", [](Step& changed) { --changed.skew; });
  }

  static void resize(Step& step, std::uint32_t count) {
    for (Operand& operand : step.sources) operand.count = count;
    for (Operand& operand : step.destinations) operand.count = count;
  }

  const PlanHeader header_;
  std::vector<Program> programs_;
  std::vector<Mutant> mutants_;
  std::map<std::size_t, std::size_t> places_;  // of those that are wanted: number → place among mutants_
  bool all_ = true;
  std::size_t number_ = 0;
  std::size_t rank_ = 0;
  std::size_t lane_ = 0;
  std::size_t step_ = 0;
};

}  // namespace

namespace {

std::vector<Mutant> step_mutants(const Plan& plan, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> numbers(Breeder(plan).count());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  // Fisher and Yates by hand: std::shuffle differs between standard libraries, and a seed must mean the same
  // everywhere.
  for (std::size_t k = 0; k + 1 < numbers.size() && k < count; ++k) std::swap(numbers[k], numbers[k + random() % (numbers.size() - k)]);
  if (numbers.size() > count) numbers.resize(count);
  return Breeder(plan).breed(&numbers);
}

std::vector<Mutant> with_depths(std::vector<Mutant> mutants, const Plan& plan) {
  for (Mutant& mutant : Breeder(plan).breed_depths()) mutants.push_back(std::move(mutant));
  return mutants;
}

}  // namespace

std::vector<Mutant> all_mutants(const Plan& plan) {
  return with_depths(Breeder(plan).breed(), plan);
}

std::vector<Mutant> some_mutants(const Plan& plan, std::size_t count, std::uint64_t seed) {
  return with_depths(step_mutants(plan, count, seed), plan);
}

std::vector<Mutant> double_mutants(const Plan& plan, std::size_t count, std::uint64_t seed) {
  std::vector<Mutant> mutants;
  for (const Mutant& first : with_depths(step_mutants(plan, count, seed), plan)) {
    if (!check_form(first.plan)) continue;
    Mutant second = step_mutants(first.plan, 1, seed + mutants.size()).at(0);
    second.description = first.description + ", and " + second.description;
    mutants.push_back(std::move(second));
  }
  return mutants;
}

}  // namespace rondo::test
