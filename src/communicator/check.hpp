// The arguments of a call, judged before anything runs, wherever its buffers are.
#pragma once

#include <cstdint>
#include <optional>

#include "communicator/plan_cache.hpp"
#include "executor/context.hpp"
#include "rondo/result.hpp"

namespace rondo {

/// What is wrong with a call of so many ranks, but for its pointers.
std::optional<Error> wrong_key(const PlanKey& key, std::uint32_t ranks);

/// What is wrong with pointers that the rule doesn't accept.
Error wrong_pointers(const PointerRule& rule, const CallIdentity& call, const void* input, const void* output);

/// Integers are multiplied by what the factor has before its point.
std::optional<Error> wrong_scale(ReduceOp op, DataType type, double scale);

}  // namespace rondo
