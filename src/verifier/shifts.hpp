// A group of shifts: each takes ranks to ranks and chunks to chunks, and for each rank there is one that takes rank 0 to it. The plans that such shifts
// map onto themselves are proved with one rank's program (0017-symmetric-plans.md).
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::verifier {

/// How shift g moves element e, of which there are as many as ranks.
enum class ShiftGroup : std::uint8_t {
  rotation,    ///< to e + g
  nested,      ///< likewise, within groups of equal size and from group to group: e and g have two digits, which are added each for itself
  reflection,  ///< to e + g where g is even, to g − e where it is odd; of an even number of ranks
};

/// What moves besides the ranks. Chunks: where a buffer has chunks of each rank, those of a rank go to those of the rank that it goes to. Channels: those
/// with a rank's number go where that rank goes.
struct ShiftedNames {
  bool chunks = true;
  bool channels = false;
};

/// Ranks are numbered by elements: a rank's is the number of the shift that takes rank 0 to it. So 0 is rank 0, and shift 0 moves nothing.
class Shifts {
 public:
  /// Along the plan's first order of ranks.
  Shifts(const PlanHeader& header, ShiftGroup group, ShiftedNames names);

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t element(std::uint32_t rank) const;
  std::uint32_t rank(std::uint32_t element) const;

  /// Where shift `by` takes an element.
  std::uint32_t moved(std::uint32_t by, std::uint32_t element) const {
    if (group_ == ShiftGroup::nested) return sum(by, element);
    const bool backwards = group_ == ShiftGroup::reflection && by % 2 != 0;
    const std::uint32_t to = by + (backwards ? ranks_ - element : element);
    return to >= ranks_ ? to - ranks_ : to;
  }
  /// The shift that undoes it.
  std::uint32_t inverse(std::uint32_t by) const {
    if (group_ == ShiftGroup::nested) return (by % size_ == 0 ? 0 : size_ - by % size_) + (by < size_ ? 0 : ranks_ - by / size_ * size_);
    const bool is_its_own = by == 0 || (group_ == ShiftGroup::reflection && by % 2 != 0);
    return is_its_own ? by : ranks_ - by;
  }
  std::uint32_t moved_rank(std::uint32_t by, std::uint32_t rank_number) const { return rank(moved(by, element(rank_number))); }

  /// Where it takes a chunk of somebody's input or output.
  std::uint32_t moved_chunk(std::uint32_t by, Buffer buffer, std::uint32_t chunk) const {
    return moved_chunk(buffer, chunk, [&](std::uint32_t owner) { return moved_rank(by, owner); });
  }
  std::uint32_t moved_channel(std::uint32_t by, std::uint32_t channel) const { return channel_moves(channel) ? moved_rank(by, channel) : channel; }

  bool rotates() const { return group_ == ShiftGroup::rotation; }

 private:
  friend class OneShift;
  template <typename MoveRank>
  std::uint32_t moved_chunk(Buffer buffer, std::uint32_t chunk, const MoveRank& move) const {
    if (!(buffer == Buffer::input ? inputs_move_ : outputs_move_)) return chunk;
    const std::uint32_t owner = unit_ == 1 && chunk < ranks_ ? chunk : chunk / unit_ % ranks_;
    return chunk + (move(owner) - owner) * unit_;
  }
  bool channel_moves(std::uint32_t channel) const { return channels_move_ && channel < ranks_; }

  /// Of numbers with a digit for the group and one for the place in it.
  std::uint32_t sum(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t inside = a % size_ + b % size_, across = a / size_ + b / size_;
    const std::uint32_t groups = ranks_ / size_;
    return (across >= groups ? across - groups : across) * size_ + (inside >= size_ ? inside - size_ : inside);
  }

  std::uint32_t ranks_;
  ShiftGroup group_;
  bool inputs_move_;
  bool outputs_move_;
  bool channels_move_;
  std::uint32_t unit_;                  ///< neighbouring chunks of one rank; all ranks' follow one another, over and over
  std::uint32_t size_ = 1;              ///< of a group of ranks
  std::uint32_t start_ = 0;             ///< rank 0's place in the order
  std::vector<std::uint32_t> order_;    ///< place → rank; empty: by number
  std::vector<std::uint32_t> place_;    ///< rank → place
};

/// One shift at a time. For many questions where it takes each rank is laid out first.
class OneShift {
 public:
  OneShift(const Shifts& shifts, bool many) : shifts_(shifts), ranks_(many ? shifts.ranks() : 0) {}

  void take(std::uint32_t shift) {
    shift_ = shift;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) ranks_[r] = shifts_.moved_rank(shift, r);
  }
  std::uint32_t moved_rank(std::uint32_t rank) const { return ranks_.empty() ? shifts_.moved_rank(shift_, rank) : ranks_[rank]; }
  std::uint32_t moved_chunk(Buffer buffer, std::uint32_t chunk) const {
    return shifts_.moved_chunk(buffer, chunk, [&](std::uint32_t owner) { return moved_rank(owner); });
  }
  std::uint32_t moved_channel(std::uint32_t channel) const { return shifts_.channel_moves(channel) ? moved_rank(channel) : channel; }

 private:
  const Shifts& shifts_;
  std::uint32_t shift_ = 0;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace rondo::verifier
