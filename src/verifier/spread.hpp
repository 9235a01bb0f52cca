// How far apart the pieces can be that one chain of waits touches: it bounds how many pieces have to be looked at for
// the answer to hold for any number of them (0002-verifier.md, "Pieces").
#pragma once

#include <cstdint>
#include <optional>

#include "verifier/image.hpp"

namespace rondo::verifier {

inline constexpr std::uint64_t never_full = std::uint64_t{1} << 40;  ///< a depth beyond every plan's need

/// The number Π such that no chain of waits strays more than Π pieces from those at its ends. Nothing when there is no
/// such number (then enough pieces deadlock), or when finding it takes too long. Takes plans whose messages match.
std::optional<std::uint64_t> piece_spread(const Image& image, std::uint64_t depth);

}  // namespace rondo::verifier
