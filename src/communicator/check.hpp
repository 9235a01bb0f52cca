// The arguments of a call, judged before anything runs, wherever its buffers are.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "communicator/plan_cache.hpp"
#include "executor/context.hpp"
#include "executor/segments.hpp"
#include "rondo/result.hpp"

namespace rondo {

inline Error wrong_call(const std::string& detail) { return Error{Errc::invalid_argument, detail, 0, "call"}; }

/// Whether its blocks lie apart (apart.cpp).
inline bool has_lists(const Call& call) { return call.inputs != nullptr || call.outputs != nullptr; }

/// What is wrong with a call of so many ranks, but for its pointers.
std::optional<Error> wrong_key(const PlanKey& key, std::uint32_t ranks);

/// What is wrong with pointers that the rule doesn't accept.
Error wrong_pointers(const PointerRule& rule, const CallIdentity& call, const void* input, const void* output);

/// Of a call some or all of whose parts are in place, whose pointers were judged when it was made.
std::optional<Error> wrong_placement(const PointerRule& rule, bool some_in_place, bool all_in_place);
/// Of a list.
std::optional<Error> wrong_placement(const PointerRule& rule, const SegmentTable& table);

/// A deadline is above 0.
std::optional<Error> wrong_timeout(std::chrono::nanoseconds timeout, std::uint32_t rank);

/// Integers are multiplied by what the factor has before its point.
std::optional<Error> wrong_scale(ReduceOp op, DataType type, double scale);

}  // namespace rondo
