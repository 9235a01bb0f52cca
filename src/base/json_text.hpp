// JSON text → value, for files that are not to be trusted.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/problem.hpp"

namespace rondo {

/// The value of a text; null after a report. Strict: nesting beyond `deepest` levels and keys that come twice in one object are
/// reported too, as is what isn't well formed, with line and column. Linear in the text, whose memory it takes some twenty times.
nlohmann::json parse_json(std::string_view text, int deepest, Problem& problem);

/// A whole number that a T holds; else throws what names it. json's own get() takes 1e30, and what becomes of it is undefined.
template <class T>
T whole_number(const nlohmann::json& value) {
  using Limits = std::numeric_limits<T>;
  if (value.is_number_unsigned()) {
    if (const auto number = value.get<std::uint64_t>(); number <= static_cast<std::uint64_t>(Limits::max())) return static_cast<T>(number);
  } else if (value.is_number_integer() && std::is_signed_v<T>) {
    if (const auto number = value.get<std::int64_t>(); number >= static_cast<std::int64_t>(Limits::min())) return static_cast<T>(number);
  }
  throw std::runtime_error(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + " is no whole number from " +
                           std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()));
}

}  // namespace rondo
