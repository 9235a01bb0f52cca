// Which ranks' contributions every chunk holds, followed through the steps of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "formats/schedule.hpp"
#include "rondo/plan.hpp"

namespace rondo::formats {

/// What a chunk holds. The set of contributions is kept as a sum of two random words a rank, which tells "every rank
/// exactly once" in constant space; the verifier, not this, proves anything.
struct Value {
  std::uint64_t sum[2] = {0, 0};
  std::uint32_t lowest = self;  ///< the smallest contributing rank
  bool written = false;         ///< false: what was there when the call began

  void add(const Value& other);
  bool same_set(const Value& other) const { return sum[0] == other.sum[0] && sum[1] == other.sum[1]; }
};

/// One rank's contribution, and the combination of ranks 0 … ranks − 1.
Value contribution(std::uint32_t rank);
Value full(std::uint32_t ranks);

/// All buffers of all ranks, one cell a chunk. In plans that run in place alone, an input chunk and the output chunk
/// that shares its memory are one cell.
class Cells {
 public:
  Cells(const PlanHeader& header, bool one_memory);

  std::size_t cell(std::uint32_t rank, Buffer buffer, std::uint32_t index) const;
  /// Where the rank's input and output chunks lie in the shared memory; false when the chunk isn't shared.
  bool output_of_input(std::uint32_t rank, std::uint32_t input, std::uint32_t& output) const;
  bool input_of_output(std::uint32_t rank, std::uint32_t output, std::uint32_t& input) const;

  Value& operator[](std::size_t cell) { return values_[cell]; }
  static std::uint64_t count(const PlanHeader& header);

 private:
  std::int64_t shift(std::uint32_t rank) const;  // output index − input index of a shared chunk

  bool one_memory_;
  Collective collective_;
  std::uint32_t chunks_per_block_, inputs_, outputs_, scratch_;
  std::vector<Value> values_;
};

/// What one step read and made; `sources[k][j]` is chunk j of operand k.
struct Flow {
  std::vector<std::vector<Value>> sources;
  std::vector<Value> result;
};

/// Applies steps in the order they are given.
class Dataflow {
 public:
  explicit Dataflow(Cells& cells) : cells_(cells) {}
  const Flow& apply(std::uint32_t rank, const Step& step);

 private:
  Cells& cells_;
  Flow flow_;
  struct Link {
    std::vector<std::vector<Value>> messages;
    std::size_t received = 0;  ///< of these
  };
  std::unordered_map<std::uint64_t, Link> links_;
};

}  // namespace rondo::formats
