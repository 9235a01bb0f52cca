// What algorithms that read peers' buffers have in common.
#pragma once

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {

inline void wait_for_others(const PlanHeader& header, std::uint32_t rank, std::uint32_t signal, LaneBuilder& lane) {
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.wait(peer(header, rank, k), signal);
}

/// Chunk `index` of all ranks' inputs, in the order of ranks.
inline Operands all_inputs(const PlanHeader& header, std::uint32_t rank, std::uint32_t index) {
  Operands sources;
  sources.reserve(header.ranks);
  for (std::uint32_t from = 0; from < header.ranks; ++from) sources.push_back(from == rank ? input(index) : input_of(from, index));
  return sources;
}

inline std::string_view direct_objection(const Request& request, const PlanLimits& limits) {
  if (!request.symmetric && !request.kernel_copies) return "ranks can't read one another's buffers";
  if (!request.symmetric && request.collective == Collective::send_recv && block_bytes(request) <= limits.staging_bytes)
    return "the message fits into its sender's slots, and needn't wait for its receiver";
  if (!request.symmetric && block_bytes(request) == 0) return "there is nothing to copy";
  if (!request.symmetric && is_reduction(request.collective)) return "the kernel copies from peers' buffers, and combines nothing";
  if (is_reduction(request.collective) && request.op == ReduceOp::premul_sum) return "a rank doesn't know the others' factors";
  return {};
}

}  // namespace rondo::planner
