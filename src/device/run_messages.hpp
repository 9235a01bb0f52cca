// What the blocks of an exchange do.
#pragma once

#include <cstdint>

#include "device/messages.hpp"
#include "device/shared.hpp"
#include "device/walk.hpp"
#include "kernels/cuda/host_device.hpp"

namespace rondo::device {

RONDO_HD inline Job job_of(const Exchange& exchange, const Message& message, bool follows) {
  const Group& all = exchange.group;
  Job job;
  job.group.rank = message.sends ? 0 : 1;
  job.group.ranks = 2;
  job.group.layout = exchange.areas.layout;
  job.group.host = all.host;
  job.group.timeout_ns = all.timeout_ns;
  job.group.one_gpu = all.one_gpu;
  job.group.is_pair = true;
  for (std::uint32_t end = 0; end < 2; ++end) {
    const bool own = end == job.group.rank;
    const std::uint32_t rank = own ? all.rank : message.peer;
    job.group.areas[end] = all.areas[rank] + exchange.areas.end(own ? message.peer : all.rank, end == 0);
    job.group.pair.ranks[end] = rank;
    job.group.pair.states[end] = &reinterpret_cast<RankWords*>(all.areas[rank])->state;
  }
  job.steps = message.steps;
  job.operands = message.operands;
  job.lanes[0] = message.lane;
  job.lane_count = 1;
  job.slices = message.slices;
  job.threads = exchange.threads;
  job.pieces = message.pieces;
  job.skew = message.skew;
  job.piece_bytes = message.piece_bytes;
  job.slice_bytes = exchange.areas.slice_bytes;
  job.slot_stride = message.slot_stride;
  job.ring_slots = message.ring_slots;
  job.digest = message.digest;
  job.hears_all = message.hears_all;
  job.inlined_bytes = message.inlined_bytes;
  job.message_bytes = message.bytes;
  job.follows = follows;
  job.stops = exchange.by_turns;
  if (message.sends) job.input = message.buffer;
  else job.output = message.buffer;
  return job;
}

/// What block `number` of an exchange does: its slice of each message that it is given, in their order. `job` is the block's, for its threads together.
template <class Block>
RONDO_HD void run_messages(Block& block, Job& job, const Exchange& exchange, const Message* messages, std::uint32_t number) {
  std::uint32_t met = 0;  // of the messages that are this block's
  for (std::uint32_t m = 0; m < exchange.messages; ++m) {
    const Message& message = messages[m];
    if (number < message.first_block || number - message.first_block >= message.slices) continue;
    const std::uint32_t slice = number - message.first_block;
    block.sync();  // the message before may still use what they share
    if (block.thread() == 0) {
      job = job_of(exchange, message, met != 0);
      RankWords& own = reinterpret_cast<RankWords*>(job.group.areas[job.group.rank])[slice];
      if (exchange.by_turns && own.exchange != exchange.number) {
        own.exchange = exchange.number;
        own.exchanged = 0;
      }
      block.shared().exchanged = exchange.by_turns ? own.exchanged : 0;
    }
    block.sync();
    if (met++ < block.shared().exchanged) continue;
    if (!Walk<std::uint8_t, Block>(block, job, 0, slice).run()) return;
    if (exchange.by_turns && block.thread() == 0) ++reinterpret_cast<RankWords*>(job.group.areas[job.group.rank])[slice].exchanged;
  }
}

}  // namespace rondo::device
