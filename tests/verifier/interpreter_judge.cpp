// One order for all. Performs a plan in one order and proves on the way that every other order does the same.
//
// Why that decides all interleavings. Call an event of another lane *in reach* of event t if it can happen before t
// does, from the state in which t is enabled. Events only ever enable one another: done steps and signals are never
// taken back, and each end of a link belongs to one lane (check_form; two lanes at one end conflict), so nobody can take the
// message or the free slot that t waits for. Hence running all other lanes as far as they go, with t's lane frozen, visits exactly the events in
// reach.
//   - If one of them conflicts with t (same place, one writes), both can be under way at once: a race, and the plan is
//     wrong.
//   - If none does, t commutes with whatever may happen before it. {t} is then a persistent set in Godefroid's sense:
//     every interleaving from this state is equivalent to one that begins with t, with the same memory, the same
//     deadlocks and the same races. (If two other events race with one another, say u and v after the steps σ, those steps are in
//     reach of t too, so that σ, u and v still lie ahead after t, and u meets v when the first of them is performed.)
//   - A copy that ranks share out is made by any of them, and here by the first. Its likes on other ranks don't race with it, as one is made; each is held
//     against all else as if it were the one, and what it would write has to be there already.
// So nothing is left to branch on. interpreter_walk.cpp branches all the same, on everything; a test holds the two
// against each other.
#include <algorithm>

#include "verifier/interpreter.hpp"
#include "verifier/interpreter_machine.hpp"

namespace rondo::test {
namespace {

/// One plan, one number of pieces, one layout.
class OneOrder {
 public:
  explicit OneOrder(const Model& model) : model_(model), machine_(model), users_(model.place_count()) {
    for (std::uint32_t lane = 0; lane < model.lanes().size(); ++lane)
      for (std::uint32_t at = 0; at < model.lanes()[lane].size(); ++at) {
        const Event& event = model.lanes()[lane][at];
        for (const Place place : event.reads) users_[place].push_back({lane, at, false});
        for (const Place place : event.writes) users_[place].push_back({lane, at, true});
      }
  }

  Judgement run() {
    if (model_.overlap()) return machine_.flaw(Flaw::overlap_in_step, *model_.overlap());
    progress_ = machine_.start();
    memory_ = machine_.fresh_memory();
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t lane = 0; lane < model_.lanes().size(); ++lane)
        for (const Event* event = machine_.next(progress_, lane);
             event != nullptr && machine_.enabled(progress_, *event); event = machine_.next(progress_, lane)) {
          if (auto wrong = perform(lane, *event)) return *wrong;
          moved = true;
        }
    }
    if (auto wrong = machine_.at_rest(progress_)) return *wrong;
    return {};
  }

 private:
  struct User {
    std::uint32_t lane;
    std::uint32_t at;
    bool writes;
  };

  std::optional<Judgement> perform(std::uint32_t lane, const Event& event) {
    if (const Event* other = conflict_in_reach(lane, event)) {
      // A rank's begin and another's end share nothing but a barrier's marks.
      const bool early_end = event.kind == EventKind::begin && other->kind == EventKind::end;
      return early_end
                 ? machine_.flaw(Flaw::wrong_output, Model::name(*other) + " may come before " + Model::name(event))
                 : machine_.flaw(Flaw::race, Model::name(event) + " and " + Model::name(*other));
    }
    if (event.word && machine_.left(memory_, event) == 0) {
      forget_what_differs(event);
      machine_.advance(progress_, lane);
      return std::nullopt;
    }
    if (event.word) machine_.take(memory_, event, true);
    const Latch latch = machine_.read(memory_, event);
    auto wrong = machine_.write(memory_, event, latch);
    machine_.advance(progress_, lane);
    return wrong;
  }

  /// Whether one of the two alone is performed.
  static bool instead(const Event& event, const Event& other) { return event.word && other.word == event.word && other.piece == event.piece; }

  /// Of a copy that has been made: where another one of those who might have made it would write something else by now, nobody knows what is there.
  void forget_what_differs(const Event& event) {
    const Latch latch = machine_.read(memory_, event);
    const std::vector<Place>& places = event.destinations[0].places;
    for (std::size_t j = 0; j < places.size(); ++j)
      if (memory_.places[places[j]] != latch.values[j]) memory_.places[places[j]] = junk;
  }

  /// An event that conflicts with this one and can happen before it.
  const Event* conflict_in_reach(std::uint32_t lane, const Event& event) const {
    std::vector<User> ahead;
    const auto collect = [&](Place place, bool writes) {
      for (const User& user : users_[place])
        if (user.lane != lane && user.at >= progress_.done[user.lane] && (writes || user.writes) && !instead(event, model_.lanes()[user.lane][user.at]))
          ahead.push_back(user);
    };
    for (const Place place : event.reads) collect(place, false);
    for (const Place place : event.writes) collect(place, true);
    if (ahead.empty()) return nullptr;
    const Progress reach = run_others(lane);
    for (const User& user : ahead)
      if (user.at < reach.done[user.lane]) return &model_.lanes()[user.lane][user.at];
    return nullptr;
  }

  /// Where all lanes but this one come to while it stands still.
  Progress run_others(std::uint32_t frozen) const {
    Progress reach = progress_;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t lane = 0; lane < model_.lanes().size(); ++lane) {
        if (lane == frozen) continue;
        for (const Event* event = machine_.next(reach, lane); event != nullptr && machine_.enabled(reach, *event);
             event = machine_.next(reach, lane)) {
          machine_.advance(reach, lane);
          moved = true;
        }
      }
    }
    return reach;
  }

  const Model& model_;
  Machine machine_;
  std::vector<std::vector<User>> users_;  // of each place
  Progress progress_;
  Memory memory_;
};

}  // namespace

Judgement judge(const Plan& plan, const std::vector<std::uint32_t>& pieces) {
  for (const std::uint32_t count : pieces)
    for (const bool in_place : {false, true}) {
      if (in_place ? !plan.header.in_place : !plan.header.out_of_place) continue;
      const Model model(plan, count, in_place);
      Judgement found = OneOrder(model).run();
      if (!found.right()) return found;
    }
  return {};
}

Judgement judge(const Plan& plan) {
  return judge(plan, telling_pieces(plan));
}

std::vector<std::uint32_t> telling_pieces(const Plan& plan) {
  if (plan.header.protocol == Protocol::inlined) return {1};
  std::uint32_t skew = 0;
  std::uint32_t reach = plan.header.depth;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) {
    const Program program = plan.program(rank);
    for (const Lane& lane : program.lanes)
      for (const Step& step : lane.steps) {
        skew = std::max(skew, step.skew);
        if (step.kind == StepKind::wait) reach = std::max(reach, step.wait.lag);
      }
  }
  std::vector<std::uint32_t> pieces;
  for (std::uint32_t count = 1; count <= reach + 1 + skew; ++count) pieces.push_back(count);
  return pieces;
}

std::string to_string(Flaw flaw) {
  switch (flaw) {
    case Flaw::none:
      return "right";
    case Flaw::deadlock:
      return "deadlock";
    case Flaw::race:
      return "race";
    case Flaw::wrong_output:
      return "wrong output";
    case Flaw::unmatched_message:
      return "unmatched message";
    case Flaw::overlap_in_step:
      return "overlap within a step";
  }
  return "?";
}

}  // namespace rondo::test
