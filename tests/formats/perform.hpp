// Performs a plan on whole numbers, one lane at a time as far as it gets, and checks what the collective promises.
#pragma once

#include <string>

#include "rondo/plan.hpp"

namespace rondo::test {

/// Empty when the plan runs to its end and every output chunk is right; else what went wrong. Inputs are powers of four
/// times the chunk, so that sums tell which contributions entered and how often. With `in_place`, inputs and outputs
/// share memory as the collective's alias says. Links hold at most `depth` messages. Peers' buffers are touched
/// directly.
std::string perform(const Plan& plan, bool in_place, std::uint32_t depth);

/// The same for each way of lying in memory that the header claims, at the header's depth.
std::string perform(const Plan& plan);

std::string read_text(const std::string& path);
std::string data(const std::string& name);  ///< the text of tests/formats/data/NAME

/// `text` with its first `from` made `to`; `from` has to be there.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace rondo::test
