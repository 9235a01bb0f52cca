// How an operand is spelled: input[3], input[0:2] (first chunk:number of chunks), scratch@1[0] (rank 1's), link(1,0)
// (peer, channel), link(1,0)x2 (a message of two chunks).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rondo/plan.hpp"

namespace rondo::plan {

std::string print_operand(const Operand& operand);

/// The reverse; nothing when the text is spelled otherwise.
std::optional<Operand> parse_operand(std::string_view text);

}  // namespace rondo::plan
