#include "verifier/neighbours.hpp"

#include <algorithm>
#include <unordered_set>

namespace rondo::verifier {
namespace {

class NeighbourFinder {
 public:
  NeighbourFinder(const Image& image, const Layout& layout)
      : image_(image), layout_(layout), writers_(layout.cells(), none) {}

  Neighbours find() {
    for (const bool writes : {true, false})
      for (std::uint32_t lane = 0; lane < image_.lanes(); ++lane)
        for (std::uint32_t s = image_.lane_steps[lane]; s < image_.lane_steps[lane + 1]; ++s)
          if (!visit(lane, image_.steps[s], writes)) return {};
    Neighbours neighbours(image_.lanes());
    for (const std::uint64_t pair : pairs_) neighbours[static_cast<std::uint32_t>(pair >> 32)].push_back(static_cast<std::uint32_t>(pair));
    for (auto& list : neighbours) std::sort(list.begin(), list.end());
    return neighbours;
  }

 private:
  /// False when there are too many pairs for lists to pay.
  bool visit(std::uint32_t lane, const FlatStep& step, bool writes) {
    const std::uint32_t begin = writes ? step.sources : 0;
    const std::uint32_t end = writes ? std::uint32_t{step.sources} + step.destinations : step.sources;
    for (std::uint32_t k = begin; k < end; ++k) {
      const FlatOperand& operand = image_.operands[step.first + k];
      if (operand.buffer == Buffer::link) continue;
      if (operand.buffer != Buffer::scratch && operand.rank != image_.lane_rank[lane]) meet_owner(lane, operand.rank);
      if (!layout_.has_cell(operand.buffer)) continue;
      const std::uint32_t to_owner = image_.moved_lane(image_.inverse(operand.rank), lane);
      for (std::uint32_t j = 0; j < step.count; ++j) {
        std::uint32_t& writer = writers_[layout_.cell(operand.buffer, operand.rank, operand.index + j, 0)];
        if (writer != none && writer != to_owner) pair(writer, to_owner);
        if (writes) writer = to_owner;
      }
    }
    return pairs_.size() <=
           image_.whole_lanes() * image_.lanes() / 8 + 8 * std::uint64_t{image_.lanes()};
  }

  /// A peer's input or output is touched only while that peer is in the call: all its lanes matter.
  void meet_owner(std::uint32_t lane, std::uint32_t rank) {
    for (std::uint32_t other = image_.first_whole_lane(rank); other < image_.first_whole_lane(rank + 1); ++other) pair(lane, other);
  }

  /// Two whole lanes, as one rank numbers both.
  void pair(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t both = std::uint64_t{a} << 32 | b;
    if (both == last_) return;
    last_ = both;
    add(a, b);
    add(b, a);
  }

  /// `other` to what `lane` is asked about.
  void add(std::uint32_t lane, std::uint32_t other) {
    const std::uint32_t lanes = image_.lanes();
    if (!image_.shifts) pairs_.insert(std::uint64_t{lane} << 32 | other);
    else pairs_.insert(std::uint64_t{lane % lanes} << 32 | image_.moved_lane(image_.inverse(lane / lanes), other));
  }

  const Image& image_;
  const Layout& layout_;
  std::vector<std::uint32_t> writers_;  // by cell: whole lanes, as its owner numbers them
  std::unordered_set<std::uint64_t> pairs_;  // of a lane of the image and a whole one
  std::uint64_t last_ = 0;
};

}  // namespace

Neighbours find_neighbours(const Image& image, const Layout& layout) {
  return NeighbourFinder(image, layout).find();
}

}  // namespace rondo::verifier
