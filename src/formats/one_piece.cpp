#include "formats/one_piece.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "plan/edit.hpp"

namespace rondo::formats {
namespace {

using plan::LaneId;

/// A step that is k turns late comes after all that are less. What waits for an earlier piece is left out.
class Unskewed {
 public:
  explicit Unskewed(std::vector<Program>& programs) {
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank)
      for (std::uint32_t lane = 0; lane < programs[rank].lanes.size(); ++lane) reorder({rank, lane}, programs[rank].lanes[lane].steps);
    for (Program& program : programs)
      for (Lane& lane : program.lanes)
        for (Step& step : lane.steps)
          if (step.kind == StepKind::wait) step.wait.signal = numbers_[{step.wait.rank, step.wait.lane}].at(step.wait.signal);
  }

 private:
  void reorder(LaneId id, std::vector<Step>& steps) {
    std::vector<std::uint32_t> order(steps.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return steps[a].skew < steps[b].skew; });
    std::map<std::uint32_t, std::uint32_t> made;  // step of a signal → its number from now on
    std::vector<Step> sorted;
    for (const std::uint32_t s : order) {
      if (steps[s].kind == StepKind::signal) made.emplace(s, static_cast<std::uint32_t>(made.size()));
      if (steps[s].kind == StepKind::wait && steps[s].wait.lag > 0) continue;
      sorted.push_back(steps[s]);
      sorted.back().skew = 0;
    }
    for (const auto& [step, number] : made) numbers_[id].push_back(number);
    steps = std::move(sorted);
  }

  std::map<LaneId, std::vector<std::uint32_t>> numbers_;  // of a lane's signals
};

class Guards {
 public:
  explicit Guards(std::vector<Program>& programs) : programs_(programs) {
    each_lane([&](LaneId id, const std::vector<Step>& steps) {
      for (std::size_t s = 0; s < steps.size(); ++s) {
        if (steps[s].kind == StepKind::wait) note_wait(id.first, steps[s].wait);
        for (const auto* operands : {&steps[s].sources, &steps[s].destinations})
          for (const Operand& operand : *operands) touch(id, s, operand);
      }
    });
  }

  void add() {
    std::set<std::pair<LaneId, LaneId>> pairs;  // a rank that writes, by one of its lanes, and a lane of another rank
    each_lane([&](LaneId id, const std::vector<Step>& steps) {
      for (const Step& step : steps)
        for (const Operand& operand : step.destinations)
          each_cell(id.first, operand, [&](const std::set<LaneId>& lanes) {
            for (const LaneId& other : lanes)
              if (other.first != id.first && guarded_.insert({id.first, other}).second) pairs.insert({id, other});
          });
    });
    std::map<LaneId, std::uint32_t> ends;
    for (const auto& [writer, other] : pairs)
      if (!ends.contains(other)) ends[other] = end_of(other);
    for (const auto& [writer, other] : pairs) {
      const auto known = known_.find({writer.first, other});
      if (known != known_.end() && known->second > ends[other]) continue;
      Step wait;
      wait.kind = StepKind::wait;
      wait.wait = {other.first, other.second, ends[other], 0};
      programs_[writer.first].lanes[writer.second].steps.push_back(std::move(wait));
    }
  }

 private:
  template <class Visit>
  void each_lane(Visit visit) const {
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank)
      for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane) visit(LaneId{rank, lane}, programs_[rank].lanes[lane].steps);
  }

  template <class Visit>
  void each_cell(std::uint32_t rank, const Operand& operand, Visit visit) {
    if (operand.buffer != Buffer::scratch) return;
    const std::uint32_t owner = operand.rank == self ? rank : operand.rank;
    for (std::uint32_t j = 0; j < operand.count; ++j) visit(touching_[{owner, operand.index + j}]);
  }

  void touch(LaneId id, std::size_t step, const Operand& operand) {
    each_cell(id.first, operand, [&](std::set<LaneId>& lanes) {
      lanes.insert(id);
      last_touch_[id] = step;
    });
  }

  void note_wait(std::uint32_t rank, const WaitFor& wait) {
    std::uint32_t& signals = known_[{rank, LaneId{wait.rank, wait.lane}}];
    signals = std::max(signals, wait.signal + 1);
  }

  /// The first signal behind a lane's last touch of any scratch; appended where there is none.
  std::uint32_t end_of(LaneId id) {
    std::vector<Step>& steps = programs_[id.first].lanes[id.second].steps;
    std::uint32_t signal = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].kind != StepKind::signal) continue;
      if (s > last_touch_[id]) return signal;
      ++signal;
    }
    Step made;
    made.kind = StepKind::signal;
    steps.push_back(std::move(made));
    return signal;
  }

  std::vector<Program>& programs_;
  std::map<LaneId, std::set<LaneId>> touching_;                       // owner and chunk → lanes
  std::map<LaneId, std::size_t> last_touch_;                          // of a lane: its last step that touches scratch
  std::map<std::pair<std::uint32_t, LaneId>, std::uint32_t> known_;   // rank and lane → signals that the rank has waited for
  std::set<std::pair<std::uint32_t, LaneId>> guarded_;
};

}  // namespace

std::vector<Program> one_piece(const Plan& plan) {
  const Plan lowered = lower(plan);
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < lowered.header.ranks; ++rank) programs.push_back(lowered.program(rank));
  plan::settle_once(programs);
  Unskewed{programs};
  Guards(programs).add();
  return programs;
}

}  // namespace rondo::formats
