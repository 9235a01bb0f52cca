// Messages → ends of plans of two ranks, ready for a kernel.
#pragma once

#include <cstdint>

#include "communicator/cuda/device_plans.hpp"
#include "device/messages.hpp"

namespace rondo {

/// What a message is, whoever looks at it. `collective`: send_recv, or the all_to_all_v that it is a block of.
struct MessageIdentity {
  Collective collective = Collective::send_recv;
  DataType type = DataType::u8;
  std::uint64_t count = 0;  ///< at most 2^62 bytes
};

class MessagePlans {
 public:
  /// `source` is that of the collectives.
  MessagePlans(const DevicePlanSource& source, const device::PairAreas& areas, bool reads_peers, DeviceArena senders, DeviceArena receivers);

  /// One end; its peer, buffer and blocks are left to the caller. Plans are kept for each length up to that of an inlined one, and for powers of two
  /// from there on, of which a message uses a part. `stream` as DevicePlans::find. Errors: as there; unsupported (a plan with several lanes).
  Result<device::Message> end(const MessageIdentity& message, bool sends, cudaStream_t stream);

 private:
  DevicePlans senders_;
  DevicePlans receivers_;
  std::uint64_t inline_bytes_ = 0;
  bool reads_peers_ = false;
};

}  // namespace rondo
