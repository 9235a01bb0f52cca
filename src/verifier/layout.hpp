// Where each chunk of each rank's buffers lies among the cells that a run follows. In place, input and output share them. Of a symmetric image rank 0's
// cells stand for all ranks'.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "verifier/image.hpp"

namespace rondo::verifier {

class Layout {
 public:
  /// Cells for `pieces` pieces; `users` false leaves the input and output buffers out.
  Layout(const Image& image, std::uint32_t pieces, bool in_place, bool users)
      : image_(image), header_(image.header), pieces_(pieces), slots_(std::min(image.header.depth, pieces)), in_place_(in_place) {
    for (std::uint32_t rank = 0; rank < image.held_ranks(); ++rank) {
      scratch_.push_back(cells_);
      cells_ += std::uint64_t{image.scratch_chunks[rank]} * slots_;
    }
    for (std::uint32_t rank = 0; users && rank < image.held_ranks(); ++rank) {
      users_.push_back(cells_);
      cells_ += user_chunks(rank) * pieces_;
    }
  }

  std::uint64_t cells() const { return cells_; }
  bool in_place() const { return in_place_; }

  /// Whether the chunk has a cell: an input that nothing overlaps has none.
  bool has_cell(Buffer buffer) const {
    return buffer == Buffer::scratch || (!users_.empty() && (buffer == Buffer::output || in_place_));
  }

  std::uint64_t cell(Buffer buffer, std::uint32_t owner, std::uint32_t index, std::uint32_t piece) const {
    if (image_.shifts) {
      if (owner != 0 && buffer != Buffer::scratch) index = image_.shifts->moved_chunk(image_.shifts->inverse(owner), buffer, index);
      owner = 0;
    }
    if (buffer == Buffer::scratch) return scratch_[owner] + std::uint64_t{index} * slots_ + (piece < slots_ ? piece : piece % slots_);
    return users_[owner] + std::uint64_t{index + shift(buffer, owner)} * pieces_ + piece;
  }

 private:
  std::uint64_t user_chunks(std::uint32_t rank) const {
    const std::uint64_t output = has_output(header_, rank) ? output_chunks(header_) : 0;
    const std::uint64_t input = has_input(header_, rank) ? input_chunks(header_) : 0;
    return in_place_ ? std::max(input, output) : output;
  }

  std::uint32_t shift(Buffer buffer, std::uint32_t owner) const {
    if (!in_place_ || !has_input(header_, owner) || !has_output(header_, owner)) return 0;
    const bool inner = buffer == Buffer::input ? input_is_block(header_.collective) : output_is_block(header_.collective);
    return inner ? owner * header_.chunks_per_block : 0;
  }

  const Image& image_;
  const PlanHeader& header_;
  const std::uint32_t pieces_;
  const std::uint32_t slots_;  // with fewer pieces than slots each piece has one of its own, whichever it is
  const bool in_place_;
  std::uint64_t cells_ = 0;
  std::vector<std::uint64_t> scratch_;
  std::vector<std::uint64_t> users_;
};

}  // namespace rondo::verifier
