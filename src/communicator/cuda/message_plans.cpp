#include "communicator/cuda/message_plans.hpp"

#include <bit>

namespace rondo {
namespace {

DevicePlanSource source_of_pairs(DevicePlanSource source, const device::PairAreas& areas, std::uint32_t rank) {
  source.group.rank = rank;
  source.group.ranks = 2;
  source.group.layout = areas.layout;
  source.slice_bytes = areas.slice_bytes;
  source.blocks = areas.layout.slices;
  source.cost.pieces_at_once = areas.layout.slices;
  source.options.limits.staging_bytes = areas.slice_bytes;
  source.by_turns = false;  // what blocks of a pair do by turns needs no rounds
  return source;
}

}  // namespace

MessagePlans::MessagePlans(const DevicePlanSource& source, const device::PairAreas& areas, bool reads_peers, DeviceArena senders, DeviceArena receivers)
    : senders_(source_of_pairs(source, areas, 0), std::move(senders)),
      receivers_(source_of_pairs(source, areas, 1), std::move(receivers)),
      inline_bytes_(source.options.limits.inline_bytes),
      reads_peers_(reads_peers) {}

Result<device::Message> MessagePlans::end(const MessageIdentity& message, bool sends, cudaStream_t stream) {
  const std::uint64_t bytes = message.count * size_of(message.type);
  const bool exact = bytes <= inline_bytes_;
  const PlanKey key{exact ? bytes : std::bit_ceil(bytes), 0, Collective::send_recv, DataType::u8, ReduceOp::sum, reads_peers_, false, std::nullopt};
  const auto found = (sends ? senders_ : receivers_).find(key, CallBuffers::single, stream);
  if (!found) return found.error();
  const DevicePlan& plan = **found;
  if (plan.job.lane_count != 1)
    return Error{Errc::unsupported, "plan '" + plan.fitted.executable.plan.header.algorithm + "' has " + std::to_string(plan.job.lane_count) +
                                        " lanes; messages between GPUs are served by plans with one", 0, "device"};
  CallIdentity identity = plan.identity;
  identity.collective = message.collective;
  identity.type = message.type;
  identity.count = message.count;
  device::Message end = message_of(plan.job, bytes, exact);
  end.digest = identity.digest();
  return end;
}

}  // namespace rondo
