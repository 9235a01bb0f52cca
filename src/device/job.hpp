// One rank's call as its blocks get it: plain data, passed by value.
#pragma once

#include <cstdint>
#include <optional>

#include "device/words.hpp"
#include "executor/executable.hpp"
#include "kernels/cuda/host_device.hpp"
#include "rondo/types.hpp"

namespace rondo::device {

/// The two ranks of a message, the sender first, among all.
struct Pair {
  std::uint32_t ranks[2] = {};
  std::uint64_t* states[2] = {};  ///< RankWords::state of theirs
};

/// What stays the same between calls. A pair's slices count their calls each for itself, in RankWords of their own.
struct Group {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  AreaLayout layout;
  std::byte* areas[max_ranks] = {};   ///< by rank, as this rank's blocks reach them
  HostWords* host = nullptr;
  std::uint64_t timeout_ns = 0;       ///< of each wait
  bool one_gpu = false;               ///< all ranks are on it: their words need be seen there alone
  bool is_pair = false;
  Pair pair;
};

/// What a call's blocks are made for.
struct Elements {
  DataType type = DataType::u8;
  std::optional<DataType> wire = std::nullopt;  ///< what slots hold in the place of f32
  bool combines = false;                        ///< elements; else it moves bytes alone
};

/// A lane's part of the steps, and of their operands.
struct DeviceLane {
  std::uint32_t first_step = 0;
  std::uint32_t steps = 0;
  std::uint32_t first_operand = 0;
  std::uint32_t operands = 0;
};

/// What a lane does between two places in its way through a call: steps from that one of that turn on, up to the other.
struct LanePart {
  std::uint32_t begin_turn = 0;
  std::uint32_t begin_step = 0;
  std::uint32_t end_turn = 0;
  std::uint32_t end_step = 0;

  RONDO_HD bool empty() const { return begin_turn == end_turn && begin_step == end_step; }
};

/// A call. `pieces` go to the slices in turn: slice s has piece s, s + slices, ..., and counts its own from 0.
struct Job {
  Group group;
  const ExecStep* steps = nullptr;
  const ExecOperand* operands = nullptr;
  DeviceLane lanes[max_lanes];
  DeviceLane kept;
  const LanePart* parts = nullptr;  ///< by lane, of a call that is run by parts; null: it is run whole
  bool last_part = true;            ///< with these the call ends
  std::uint32_t lane_count = 0;
  std::uint32_t slices = 1;
  std::uint32_t threads = 0;  ///< of each block
  std::uint64_t pieces = 1;
  std::uint64_t skew = 0;  ///< the largest of its steps
  std::uint64_t piece_bytes = 0;
  std::uint64_t slice_bytes = 0;  ///< of the staging
  std::uint64_t slot_stride = 0;
  std::uint64_t ring_slots = 1;
  std::uint32_t element_bytes = 1;
  std::uint32_t divisor = 0;
  std::uint32_t digest = 0;
  ReduceOp op = ReduceOp::sum;
  bool hears_all = false;
  std::uint32_t inlined_bytes = 0;  ///< of an inlined plan, of the input at its beginning: they are wanted first of all
  std::uint64_t message_bytes = 0;  ///< of a message: the plan is for one that is as long or longer. 0: each step has its own
  bool follows = false;             ///< these blocks ran another call before, in the same kernel
  bool stops = false;               ///< a block that would have to wait leaves, and goes on from there when it is started again
  double scale = 1;
  std::int64_t integer_scale = 1;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

}  // namespace rondo::device
