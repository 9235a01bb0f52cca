// Which lanes meet in some chunk, one of them writing: those whose order has to be known.
#pragma once

#include "verifier/clocks.hpp"
#include "verifier/image.hpp"
#include "verifier/layout.hpp"

namespace rondo::verifier {

/// The lists for `Clocks`; none at all (exact clocks) where so many lanes meet that lists would save nothing.
Neighbours find_neighbours(const Image& image, const Layout& layout);

}  // namespace rondo::verifier
