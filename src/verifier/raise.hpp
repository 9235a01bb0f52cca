// What joining two full clocks is, for many words: the maximum of each two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::verifier {

/// Each of `mine` to what the other is, where that is more. The two don't overlap.
void raise(std::uint32_t* mine, const std::uint32_t* theirs, std::size_t count);

}  // namespace rondo::verifier
