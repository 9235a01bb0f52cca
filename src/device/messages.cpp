#include "device/messages.hpp"

#include <algorithm>

namespace rondo::device {
namespace {

constexpr std::uint64_t place_unit = 256;  // ends of pairs, and parts of their staging, begin at such addresses

}  // namespace

PairAreas pair_areas(std::uint64_t begin, std::uint64_t bytes, std::uint32_t ranks, std::uint32_t slices) {
  PairAreas areas;
  const std::uint64_t parts = std::uint64_t{4} * std::max(1u, ranks - 1) * slices;  // two ways, two call parities
  areas.begin = (begin + place_unit - 1) / place_unit * place_unit;
  areas.slice_bytes = std::max<std::uint64_t>(1, bytes / parts / place_unit) * place_unit;
  areas.layout = {areas.slice_bytes * slices, slices, slices, 1};
  areas.bytes = areas.layout.total_bytes();
  return areas;
}

Message message_of(const Job& call, std::uint64_t bytes, bool inlined) {
  Message message;
  message.steps = call.steps;
  message.operands = call.operands;
  message.lane = call.lanes[0];
  message.sends = call.group.rank == 0;
  message.bytes = inlined ? 0 : bytes;
  message.pieces = inlined ? call.pieces : std::max<std::uint64_t>(1, (bytes + call.piece_bytes - 1) / call.piece_bytes);
  message.slices = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.slices, message.pieces));
  message.piece_bytes = call.piece_bytes;
  message.slot_stride = call.slot_stride;
  message.ring_slots = static_cast<std::uint32_t>(call.ring_slots);
  message.skew = static_cast<std::uint32_t>(call.skew);
  message.inlined_bytes = call.inlined_bytes;
  message.hears_all = call.hears_all;
  return message;
}

std::uint32_t deal_blocks(std::vector<Message>& messages, std::uint32_t ranks) {
  std::vector<std::uint32_t> most(2 * std::size_t{ranks}), first(most.size());
  const auto way = [](const Message& message) { return 2 * message.peer + message.sends; };
  for (const Message& message : messages) most[way(message)] = std::max(most[way(message)], message.slices);
  std::uint32_t blocks = 0;
  for (std::size_t k = 0; k < most.size(); ++k) {
    first[k] = blocks;
    blocks += most[k];
  }
  for (Message& message : messages) message.first_block = first[way(message)];
  return blocks;
}

}  // namespace rondo::device
