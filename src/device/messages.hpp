// Messages between two ranks: each is a plan of two, whose calls are counted for the pair alone. Those of an exchange run side by side, in one kernel;
// several from one rank to another one after the other. docs/design/0020-device-executor.md.
#pragma once

#include <cstdint>
#include <vector>

#include "device/job.hpp"
#include "device/words.hpp"
#include "kernels/cuda/host_device.hpp"

namespace rondo::device {

inline constexpr std::uint32_t most_messages = 128;  ///< of an exchange: what a kernel's arguments have room for
inline constexpr std::uint32_t few_messages = 16;    ///< an exchange of so few has shorter ones

/// What a rank keeps for each peer, and each way, behind its collectives' memory.
struct PairAreas {
  AreaLayout layout;        ///< of one end
  std::uint64_t begin = 0;  ///< in a rank's area
  std::uint64_t bytes = 0;  ///< of one end
  std::uint64_t slice_bytes = 0;  ///< of the staging of one call parity, for each slice

  RONDO_HD std::uint64_t end(std::uint32_t peer, bool sends) const { return begin + (2 * std::uint64_t{peer} + sends) * bytes; }
  RONDO_HD std::uint64_t total_bytes(std::uint32_t ranks) const { return end(ranks, false); }
};

/// One end of a message; plain data.
struct Message {
  const ExecStep* steps = nullptr;
  const ExecOperand* operands = nullptr;
  DeviceLane lane;
  std::byte* buffer = nullptr;
  std::uint32_t peer = 0;
  bool sends = false;
  std::uint32_t first_block = 0;  ///< of those that run it: as many as it has slices. Messages to one peer begin at the same, and from one
  std::uint32_t slices = 1;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 1;
  std::uint64_t piece_bytes = 0;
  std::uint64_t slot_stride = 0;
  std::uint32_t ring_slots = 1;
  std::uint32_t skew = 0;
  std::uint32_t digest = 0;
  std::uint32_t inlined_bytes = 0;
  bool hears_all = false;
};

/// What all messages of a rank's exchange have in common.
struct Exchange {
  Group group;             ///< of all ranks
  PairAreas areas;
  std::uint32_t messages = 0;
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;  ///< of each block
  std::uint64_t number = 0;   ///< by turns: counts the exchanges of this rank, each of which may be started several times
  bool by_turns = false;
};

/// Memory for `slices` slices of each pair behind `begin` bytes of a rank's area, with `bytes` of staging for all pairs of a rank together.
PairAreas pair_areas(std::uint64_t begin, std::uint64_t bytes, std::uint32_t ranks, std::uint32_t slices);

/// One end of a message of `bytes` by the call of a plan that is fitted for as many, or for more if it isn't inlined. The rest is left to the caller: digest,
/// peer, buffer, first block.
Message message_of(const Job& call, std::uint64_t bytes, bool inlined);

/// Sets the first blocks: each way between a rank and a peer has as many as the longest of its messages has slices. How many in all.
std::uint32_t deal_blocks(std::vector<Message>& messages, std::uint32_t ranks);

}  // namespace rondo::device
