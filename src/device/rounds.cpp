#include "device/rounds.hpp"

#include <string>

namespace rondo::device {
namespace {

/// How far one lane of one rank has come: it has done what is before this step of this turn. At its end it stands in the turn behind its last.
struct Place {
  std::uint64_t turn = 0;
  std::uint32_t step = 0;
  std::uint64_t signals = 0;  ///< what its progress word says, without the call's number
  bool operator==(const Place&) const = default;
};

/// All ranks' lanes, moved on together. Slices do the same, each on its own; those with a piece less skip what the first does with its last.
class Course {
 public:
  explicit Course(const std::vector<Fitted>& all) : all_(all), places_(all.size()) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) places_[rank].resize(all[rank].executable.lanes.size());
    pieces_ = (all.front().executable.pieces + all.front().slices - 1) / all.front().slices;
  }

  /// One round: every lane goes on as long as what it waits for was done in rounds before. Says whether any did.
  bool advance() {
    const auto before = places_;
    bool any = false;
    for (std::size_t rank = 0; rank < all_.size(); ++rank)
      for (std::size_t lane = 0; lane < places_[rank].size(); ++lane) any |= run(rank, lane, before);
    return any;
  }

  bool ended() const {
    for (std::size_t rank = 0; rank < all_.size(); ++rank)
      for (const Place& place : places_[rank])
        if (place.turn < turns(rank)) return false;
    return true;
  }

  const std::vector<Place>& of(std::size_t rank) const { return places_[rank]; }

 private:
  std::uint64_t turns(std::size_t rank) const { return pieces_ + all_[rank].skew; }

  bool run(std::size_t rank, std::size_t lane, const std::vector<std::vector<Place>>& before) {
    const Executable& exec = all_[rank].executable;
    const ExecLane& steps = exec.lanes[lane];
    Place& place = places_[rank][lane];
    const Place begun = place;
    while (place.turn < turns(rank)) {
      if (place.step == steps.steps) {
        ++place.turn;
        place.step = 0;
        continue;
      }
      const ExecStep& step = exec.steps[steps.first_step + place.step];
      if (step.op == ExecOp::wait && !passes(step, place.turn, before)) break;
      if (step.op == ExecOp::signal && takes_place(step, place.turn)) place.signals = place.turn * step.stride + step.position;
      ++place.step;
    }
    return place != begun;
  }

  bool takes_place(const ExecStep& step, std::uint64_t turn) const { return turn >= step.skew && turn - step.skew < pieces_; }

  bool passes(const ExecStep& wait, std::uint64_t turn, const std::vector<std::vector<Place>>& before) const {
    const std::uint64_t piece = turn - wait.skew;
    if (!takes_place(wait, turn) || piece < wait.lag) return true;
    return before[wait.rank][wait.lane].signals >= (piece - wait.lag) * wait.stride + wait.position;
  }

  const std::vector<Fitted>& all_;
  std::vector<std::vector<Place>> places_;
  std::uint64_t pieces_ = 0;
};

LanePart between(const Place& begin, const Place& end) {
  return {static_cast<std::uint32_t>(begin.turn), begin.step, static_cast<std::uint32_t>(end.turn), end.step};
}

}  // namespace

bool Rounds::runs(std::uint32_t round) const {
  if (round == last) return true;
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    if (!parts[round * lanes + lane].empty()) return true;
  return false;
}

Result<Rounds> find_rounds(const std::vector<Fitted>& all, std::uint32_t rank) {
  const std::string& algorithm = all.front().executable.plan.header.algorithm;
  for (const Fitted& one : all)
    if (one.executable.inlined || one.executable.direct)
      return Error{Errc::unsupported, "plan '" + algorithm + "' is " + (one.executable.direct ? "direct" : "inlined") +
                                          ", which ranks that share a GPU by turns can't run; accepted: staged ones", 0, "device"};
  Course course(all);
  Rounds rounds;
  rounds.lanes = static_cast<std::uint32_t>(course.of(rank).size());
  while (!course.ended()) {
    const std::vector<Place> before = course.of(rank);
    if (!course.advance()) return Error{Errc::invalid_plan, "plan '" + algorithm + "' never ends: its ranks wait for one another", 0, "device"};
    const std::uint32_t round = rounds.count();
    for (std::size_t lane = 0; lane < before.size(); ++lane) {
      rounds.parts.push_back(between(before[lane], course.of(rank)[lane]));
      if (!rounds.parts.back().empty()) rounds.last = round;
    }
  }
  return rounds;
}

}  // namespace rondo::device
