// Guards the reuse of scratch slots over pieces for plans that come from formats without that notion.
#include <algorithm>
#include <unordered_map>

#include "plan/edit.hpp"

namespace rondo {
namespace {

using plan::LaneId;

class Creditor {
 public:
  Creditor(std::vector<Program>& programs, std::uint32_t depth) : programs_(programs), depth_(depth) {}

  void run() {
    for_each_step([&](std::uint32_t rank, std::uint32_t lane, std::size_t, const Step& step) {
      for (const auto* operands : {&step.sources, &step.destinations})
        for (const Operand& operand : *operands)
          for_each_cell(rank, operand, [&](std::vector<LaneId>& lanes) {
            if (lanes.empty() || lanes.back() != LaneId{rank, lane}) lanes.push_back({rank, lane});
          });
    });
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank) guard(rank);
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank) insertions_[rank].apply(programs_[rank]);
  }

 private:
  template <class Visit>
  void for_each_step(Visit&& visit) {
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank)
      for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane)
        for (std::size_t s = 0; s < programs_[rank].lanes[lane].steps.size(); ++s)
          visit(rank, lane, s, programs_[rank].lanes[lane].steps[s]);
  }

  template <class Visit>
  void for_each_cell(std::uint32_t rank, const Operand& operand, Visit&& visit) {
    if (operand.buffer != Buffer::scratch) return;
    const std::uint64_t owner = operand.rank == self ? rank : operand.rank;
    for (std::uint32_t j = 0; j < operand.count; ++j) visit(touching_[owner << 32 | (operand.index + j)]);
  }

  /// In front of a lane's writes: waits for the other lanes that touch the same chunks, unless it has done so.
  void guard(std::uint32_t rank) {
    for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane) {
      plan::Waited<LaneId> waited;
      const std::size_t steps = programs_[rank].lanes[lane].steps.size();
      for (std::size_t s = 0; s < steps; ++s) {
        note_credit(programs_[rank].lanes[lane].steps[s], waited);
        const Operands destinations = programs_[rank].lanes[lane].steps[s].destinations;
        for (const Operand& operand : destinations)
          for_each_cell(rank, operand, [&](const std::vector<LaneId>& lanes) {
            for (const LaneId& other : lanes)
              if (other != LaneId{rank, lane}) add_wait(rank, lane, s, other, waited);
          });
      }
    }
  }

  /// A wait of the plan's own for the end of an earlier piece of another lane is as good as one of ours.
  void note_credit(const Step& step, plan::Waited<LaneId>& waited) const {
    if (step.kind != StepKind::wait || step.wait.lag == 0 || step.wait.lag > depth_) return;
    const WaitFor& wait = step.wait;
    if (wait.rank >= programs_.size() || wait.lane >= programs_[wait.rank].lanes.size()) return;
    if (plan::existing_end_signal(programs_[wait.rank].lanes[wait.lane]) == wait.signal)
      waited.add({wait.rank, wait.lane}, step.skew);
  }

  void add_wait(std::uint32_t rank, std::uint32_t lane, std::size_t s, const LaneId& other,
                plan::Waited<LaneId>& waited) {
    const std::uint32_t skew = programs_[rank].lanes[lane].steps[s].skew;
    if (waited.covers(other, skew)) return;
    waited.add(other, skew);
    const std::uint32_t signal = plan::end_signal(programs_[other.first].lanes[other.second]);
    insertions_[rank].before(lane, s, plan::make_wait({other.first, other.second, signal, depth_}, skew));
  }

  std::vector<Program>& programs_;
  const std::uint32_t depth_;
  std::unordered_map<std::uint64_t, std::vector<LaneId>> touching_;  // owner << 32 | chunk
  std::unordered_map<std::uint32_t, plan::Insertions> insertions_;   // by rank
};

}  // namespace

Plan add_credits(const Plan& plan) {
  if (plan.header.scratch_chunks == 0 || plan.header.protocol == Protocol::inlined || !plan.complete()) return plan;
  std::vector<Program> programs = rondo::plan::all_programs(plan);
  PlanHeader header = plan.header;
  header.depth = rondo::plan::depth_for_credits(header, programs);
  Creditor(programs, header.depth).run();
  return rondo::plan::with_programs(plan, std::move(header), std::move(programs));
}

}  // namespace rondo
