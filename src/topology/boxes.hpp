// A topology as nested boxes with places on a sheet: what the picture draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// A box with a heading, lines of text, and boxes inside. Places are absolute once lay_out has run; units: pixels.
struct Box {
  std::int64_t node = -1;             ///< whose box it is
  std::vector<std::uint32_t> folded;  ///< further nodes that this box stands for
  NodeKind kind = NodeKind::other;
  std::string heading;
  std::vector<std::string> lines;
  std::string ranks;  ///< "rank 3", "ranks 0-7", or nothing
  std::vector<Box> inside;
  double x = 0, y = 0, width = 0, height = 0;
};

/// One box a machine and one for the network, with all that is inside, nothing placed yet.
std::vector<Box> make_boxes(const Topology& topology);

/// Gives every box its size and place; the first stands at (`x`, `y`). Returns the size of the whole.
struct Extent {
  double width = 0, height = 0;
};
Extent lay_out(std::vector<Box>& boxes, double x, double y);

}  // namespace rondo
