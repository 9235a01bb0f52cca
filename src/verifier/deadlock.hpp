// No circle of waits, for any number of pieces.
#pragma once

#include <cstdint>

#include "verifier/image.hpp"
#include "verifier/report.hpp"
#include "verifier/walk.hpp"

namespace rondo::verifier {

/// Reports one circle when links hold header.depth messages. Returns Π of `piece_spread`, 0 where it reported. `one_piece`, which may be null, is
/// told of a walk over one piece, which is often the walk that decides, so it must never have enough; that walk got stuck where a circle is reported.
std::uint64_t check_deadlock(const Image& image, Report& report, Observer* one_piece);

/// Of an image with links: the smallest number of messages that they have to hold; 0 when no number helps.
std::uint32_t least_safe_depth(const Image& image);

}  // namespace rondo::verifier
