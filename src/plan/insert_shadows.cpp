// Plans that touch peers' inputs and outputs, made to touch copies in scratch instead. A rank with shadows gets two
// lanes more. The first fills them, once everyone has done with the slots' earlier piece, and signals; who touches a
// shadow waits for that. The last one waits for those who write shadows, and copies them to the output.
#include <algorithm>
#include <map>

#include "plan/edit.hpp"
#include "plan/shadows.hpp"

namespace rondo {
namespace {

using rondo::plan::LaneId;
using rondo::plan::ShadowCopy;
using rondo::plan::Shadows;

bool is_user(const Operand& operand) {
  return operand.buffer == Buffer::input || operand.buffer == Buffer::output;
}

class Shadower {
 public:
  Shadower(PlanHeader& header, std::vector<Program>& programs) : header_(header), programs_(programs) {}

  /// False when no rank touches another's input or output; nothing is changed then.
  bool run() {
    if (!find()) return false;
    plan::settle_once(programs_);
    header_.depth = plan::depth_for_credits(header_, programs_);
    std::uint32_t most = 0;
    for (auto& [rank, shadows] : shadows_) most = std::max(most, shadows.place(header_.scratch_chunks));
    header_.scratch_chunks += most;
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank) rewrite(rank);
    for (auto& [rank, shadows] : shadows_)
      if (shadows.any()) add_lanes(rank, shadows);
    finish();
    if (header_.protocol == Protocol::direct) header_.protocol = Protocol::staged;
    return true;
  }

 private:
  template <class Visit>
  void for_each_user_operand(Visit&& visit) {
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank)
      for (Lane& lane : programs_[rank].lanes)
        for (Step& step : lane.steps)
          for (auto* operands : {&step.sources, &step.destinations})
            for (Operand& operand : *operands)
              if (is_user(operand)) visit(rank, operand.rank == self ? rank : operand.rank, operand);
  }

  /// Peers' accesses make shadows; an operand that lies partly in one is taken in as a whole, until none does.
  bool find() {
    for_each_user_operand([&](std::uint32_t rank, std::uint32_t owner, const Operand& operand) {
      if (rank != owner && owner < header_.ranks)
        shadows_.try_emplace(owner, header_, owner).first->second.touch(operand, true);
    });
    for (bool changed = !shadows_.empty(); changed;) {
      changed = false;
      for_each_user_operand([&](std::uint32_t, std::uint32_t owner, const Operand& operand) {
        if (const auto at = shadows_.find(owner); at != shadows_.end()) changed |= at->second.touch(operand, false);
      });
    }
    for (const auto& [rank, shadows] : shadows_)
      if (shadows.any()) return true;
    return false;
  }

  void rewrite(std::uint32_t rank) {
    plan::Insertions insertions;
    for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane) {
      plan::Waited<std::uint32_t> waited;
      std::vector<Step>& steps = programs_[rank].lanes[lane].steps;
      for (std::size_t s = 0; s < steps.size(); ++s)
        for (auto* operands : {&steps[s].sources, &steps[s].destinations})
          for (Operand& operand : *operands) {
            const bool destination = operands == &steps[s].destinations;
            const std::uint32_t owner = operand.rank == self ? rank : operand.rank;
            if (!redirect(operand, owner, destination, {rank, lane})) continue;
            if (waited.covers(owner, steps[s].skew)) continue;
            waited.add(owner, steps[s].skew);
            insertions.before(lane, s, plan::make_wait({owner, filling_lane(owner), 0, 0}, steps[s].skew));
          }
    }
    pending_[rank] = std::move(insertions);
  }

  bool redirect(Operand& operand, std::uint32_t owner, bool destination, const LaneId& lane) {
    if (!is_user(operand)) return false;
    const auto at = shadows_.find(owner);
    if (at == shadows_.end()) return false;
    const auto chunk = at->second.map(operand);
    if (!chunk) return false;
    at->second.use(operand, destination);
    touching_[owner][lane] |= destination;
    operand.buffer = Buffer::scratch;
    operand.index = *chunk;
    return true;
  }

  /// The numbers of the added lanes follow from the lanes that were there, which is why those are kept until the end.
  std::uint32_t filling_lane(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(programs_[rank].lanes.size());
  }

  void add_lanes(std::uint32_t rank, const Shadows& shadows) {
    Lane filling;
    Lane draining;
    for (const auto& [lane, writes] : touching_[rank]) {
      const std::uint32_t end = plan::end_signal(programs_[lane.first].lanes[lane.second]);
      filling.steps.push_back(plan::make_wait({lane.first, lane.second, end, header_.depth}, 0));
      if (writes) draining.steps.push_back(plan::make_wait({lane.first, lane.second, end, 0}, 0));
    }
    const std::uint32_t first = filling_lane(rank);
    if (!draining.steps.empty()) filling.steps.push_back(plan::make_wait({rank, first + 1, 0, header_.depth}, 0));
    for (const ShadowCopy& copy : shadows.fills())
      add_copy(filling, {Buffer::input, self, copy.user, copy.count}, {Buffer::scratch, self, copy.shadow, copy.count});
    for (const ShadowCopy& copy : shadows.drains())
      add_copy(draining, {Buffer::scratch, self, copy.shadow, copy.count},
               {Buffer::output, self, copy.user, copy.count});
    filling.steps.push_back(plan::make_signal(0));
    added_[rank].push_back(std::move(filling));
    if (draining.steps.empty()) return;
    draining.steps.push_back(plan::make_signal(0));
    added_[rank].push_back(std::move(draining));
  }

  static void add_copy(Lane& lane, const Operand& from, const Operand& to) {
    Step step;
    step.sources.push_back(from);
    step.destinations.push_back(to);
    lane.steps.push_back(std::move(step));
  }

  void finish() {
    for (auto& [rank, insertions] : pending_) insertions.apply(programs_[rank]);
    for (auto& [rank, lanes] : added_)
      for (Lane& lane : lanes) programs_[rank].lanes.push_back(std::move(lane));
  }

  PlanHeader& header_;
  std::vector<Program>& programs_;
  std::map<std::uint32_t, Shadows> shadows_;                  // by owner
  std::map<std::uint32_t, std::map<LaneId, bool>> touching_;  // by owner: lanes, and whether they write
  std::map<std::uint32_t, plan::Insertions> pending_;         // by rank
  std::map<std::uint32_t, std::vector<Lane>> added_;          // by rank
};

}  // namespace

Plan insert_shadows(const Plan& plan) {
  if (plan.header.protocol != Protocol::direct || !plan.complete()) return plan;
  PlanHeader header = plan.header;
  std::vector<Program> programs = rondo::plan::all_programs(plan);
  if (!Shadower(header, programs).run()) return plan;
  return rondo::plan::with_programs(plan, std::move(header), std::move(programs));
}

}  // namespace rondo
