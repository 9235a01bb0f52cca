// What several ranks gave, in one piece: of each its length and its bytes, in order. So what a range of ranks gave is that of its parts, one behind another.
#pragma once

#include <cstdint>

#include "bootstrap/bootstrap.hpp"
#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// The most bytes that a bundle of so many ranks has.
std::uint64_t largest_bundle(std::uint32_t ranks);

/// At its end. Descriptors don't go into it.
void add_to_bundle(Address& bundle, const Address& given);

/// Error invalid_argument: it isn't exactly one of so many.
Result<Gathered> open_bundle(const Address& bundle, std::uint32_t ranks);

/// Whether it is one of so many.
bool is_bundle(const Address& bundle, std::uint32_t ranks);

}  // namespace rondo
