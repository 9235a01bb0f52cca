// What plans that a program brings along are held to, wherever they run.
#pragma once

#include <cstdint>
#include <optional>

#include "rondo/plan.hpp"
#include "rondo/result.hpp"
#include "rondo/verifier.hpp"

namespace rondo {

/// Whether a plan is for another number of ranks.
std::optional<Error> wrong_ranks(const Plan& plan, std::uint32_t ranks);

/// The plan's proof, or its first violation; `what` says in which form it was looked at.
Result<Proof> prove(const Plan& plan, const char* what);

}  // namespace rondo
