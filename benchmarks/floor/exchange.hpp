// Hand-written all-reduces over shared memory: what the hardware allows without a plan, a check or a choice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "floor/region.hpp"

namespace floor_bench {

/// How a large all-reduce is cut and stored.
struct Shape {
  std::size_t piece_bytes = std::size_t{64}
                            << 10;  ///< one-shot: a slot; two-shot: a round over all ranks; <= slot_bytes
  bool skewed = true;               ///< stage piece i + 1 before piece i is waited for
  bool streaming = false;           ///< write the user's output past the caches
};

/// One rank of a fixed group that exchanges through a Region. f32 sums; every rank ends with the same bits.
/// All ranks make the same calls in the same order. Not for use by several threads.
class Exchange {
 public:
  /// `crowded`: more ranks than cores, so waiting yields at once.
  Exchange(Region& region, std::uint32_t rank, std::uint32_t ranks, bool crowded)
      : region_(region), rank_(rank), ranks_(ranks), crowded_(crowded) {}

  /// 1 or 2 floats: flag and payload in one cache line.
  void tiny(const float* in, float* out, std::size_t count);

  /// Every rank stages its input and sums everybody's: half the hand-overs, `ranks` times the arithmetic.
  void one_shot(const float* in, float* out, std::size_t count, const Shape& shape);

  /// Every rank sums its shard of each round and the others copy the result.
  void two_shot(const float* in, float* out, std::size_t count, const Shape& shape);

  void barrier();

 private:
  struct Round;
  void stage_shards(const Round& round, const float* in);
  void reduce_shard(const Round& round, const float* in, float* out, const Shape& shape);
  void gather_shards(const Round& round, float* out, const Shape& shape);
  const float* staged(std::uint32_t rank, std::uint64_t slot) const;
  Round round_at(std::size_t index, std::size_t count, std::size_t per_round, std::uint64_t base) const;

  Region& region_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  bool crowded_;
  std::uint64_t tiny_calls_ = 0;
  std::uint64_t barriers_ = 0;
  std::uint64_t one_shot_pieces_ = 0;  // absolute, over all calls, so that slots need no reset
  std::uint64_t two_shot_rounds_ = 0;
};

}  // namespace floor_bench
