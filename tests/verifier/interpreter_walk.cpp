// All orders, one by one: a search through the states of a plan that branches on every lane, with steps torn in two
// (the reading half, then the writing half) and states remembered. It argues nothing, so that it can check the one that
// does (interpreter_judge.cpp), and it sees what a race does to the data.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "verifier/interpreter.hpp"
#include "verifier/interpreter_machine.hpp"

namespace rondo::test {
namespace {

struct State {
  Progress progress;
  Memory memory;
  std::vector<std::optional<Latch>> under_way;  // of each lane: the step that has read and not yet written
};

/// All that tells one state from another.
std::u32string key(const State& state) {
  std::u32string numbers;
  numbers.reserve(state.progress.done.size() + state.memory.places.size() + 2 * state.memory.links.size() + 4 * state.under_way.size());
  for (const std::uint32_t done : state.progress.done) numbers.push_back(done);
  for (const ValueId value : state.memory.places) numbers.push_back(value);
  for (const auto& link : state.memory.links) {
    numbers.push_back(static_cast<char32_t>(link.size()));
    for (const auto& message : link)
      for (const ValueId value : message) numbers.push_back(value);
  }
  for (const auto& [copy, left] : state.memory.left) {
    numbers.push_back(copy.first);
    numbers.push_back(copy.second);
    numbers.push_back(left);
  }
  for (const auto& latch : state.under_way) {
    numbers.push_back(latch ? 1 : 0);
    if (latch)
      for (const ValueId value : latch->values) numbers.push_back(value);
  }
  return numbers;
}

class Walk {
 public:
  Walk(const Model& model, Exhaustive& found, std::uint64_t most_states, Flaw enough)
      : model_(model), machine_(model), found_(found), most_states_(most_states), enough_(enough) {}

  void run() {
    if (model_.overlap()) return record(machine_.flaw(Flaw::overlap_in_step, *model_.overlap()));
    visit({machine_.start(), machine_.fresh_memory(), std::vector<std::optional<Latch>>(model_.lanes().size())});
    while (!open_.empty() && found_.complete && !found_.shows(enough_)) {
      const State state = std::move(open_.back());
      open_.pop_back();
      bool moved = false;
      for (std::uint32_t lane = 0; lane < model_.lanes().size(); ++lane) moved |= try_lane(state, lane);
      if (moved) continue;
      if (auto wrong = machine_.at_rest(state.progress)) record(*wrong);
    }
  }

 private:
  /// One half step of a lane, if it can do one.
  bool try_lane(const State& state, std::uint32_t lane) {
    const Event* event = machine_.next(state.progress, lane);
    if (event == nullptr) return false;
    if (!state.under_way[lane]) {
      if (!machine_.enabled(state.progress, *event)) return false;
      if (event->word) {
        const std::uint32_t left = machine_.left(state.memory, *event);
        if (left != 1) {  // it leaves the copy to others, or to the one who makes it
          State passed = state;
          if (left != 0) machine_.take(passed.memory, *event, false);
          machine_.advance(passed.progress, lane);
          visit(std::move(passed));
        }
        if (left == 0) return true;
      }
      find_races(state, lane, *event);
    }
    State next = state;
    if (event->kind == EventKind::move && !state.under_way[lane]) {
      next.under_way[lane] = machine_.read(state.memory, *event);
      if (event->word) machine_.take(next.memory, *event, true);
      visit(std::move(next));
      return true;
    }
    const Latch latch = state.under_way[lane] ? *state.under_way[lane] : machine_.read(state.memory, *event);
    next.under_way[lane].reset();
    if (auto wrong = machine_.write(next.memory, *event, latch)) {
      record(*wrong);
      return true;
    }
    machine_.advance(next.progress, lane);
    visit(std::move(next));
    return true;
  }

  void find_races(const State& state, std::uint32_t lane, const Event& event) {
    for (std::uint32_t other = 0; other < model_.lanes().size(); ++other) {
      if (other == lane || !state.under_way[other]) continue;
      const Event& rival = *machine_.next(state.progress, other);
      if (Machine::conflict(event, rival))
        record(machine_.flaw(Flaw::race, Model::name(event) + " and " + Model::name(rival)));
    }
  }

  void visit(State state) {
    if (seen_.size() >= most_states_) {
      found_.complete = false;
      return;
    }
    if (!seen_.insert(key(state)).second) return;
    ++found_.states;
    open_.push_back(std::move(state));
  }

  void record(const Judgement& flaw) {
    if (!found_.shows(flaw.flaw)) found_.flaws.push_back(flaw);
  }

  const Model& model_;
  Machine machine_;
  Exhaustive& found_;
  const std::uint64_t most_states_;
  const Flaw enough_;
  std::vector<State> open_;
  std::unordered_set<std::u32string> seen_;
};

}  // namespace

bool Exhaustive::shows(Flaw flaw) const {
  return std::any_of(flaws.begin(), flaws.end(), [&](const Judgement& found) { return found.flaw == flaw; });
}

Exhaustive walk_all(const Plan& plan, const std::vector<std::uint32_t>& pieces, std::uint64_t most_states, Flaw enough) {
  Exhaustive found;
  for (const std::uint32_t count : pieces)
    for (const bool in_place : {false, true}) {
      if (in_place ? !plan.header.in_place : !plan.header.out_of_place) continue;
      if (found.shows(enough)) return found;
      const Model model(plan, count, in_place);
      Walk(model, found, most_states, enough).run();
    }
  return found;
}

}  // namespace rondo::test
