// JSON text → value, for files that are not to be trusted.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/problem.hpp"

namespace rondo {

/// The value of a text; null after a report. Strict: nesting beyond `deepest` levels and keys that come twice in one object are
/// reported too, as is what isn't well formed, with line and column. Linear in the text, whose memory it takes some twenty times.
nlohmann::json parse_json(std::string_view text, int deepest, Problem& problem);

}  // namespace rondo
