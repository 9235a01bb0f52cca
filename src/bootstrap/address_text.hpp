// Text as the bytes that a rank gives.
#pragma once

#include <string>
#include <string_view>

#include "rondo/transport.hpp"

namespace rondo {

inline Address address_of(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {{begin, begin + text.size()}, {}};
}

inline std::string text_of(const Address& address) { return {reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size()}; }

}  // namespace rondo
