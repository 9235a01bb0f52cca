// Which of the instruction sets that the kernels are compiled for runs them. For files that have Highway's headers.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/vector_targets.hpp"

#include <hwy/highway.h>

namespace rondo::kernels {

/// In Highway's tables of functions. 0, before choose_target() has run: Highway's own choice, which the whole process shares.
extern std::atomic<std::size_t> target_index;

/// Intel's servers from Skylake to Cooper Lake lower their clock for vectors of 64 bytes, and run slowly for some 10 us until they have: a program that calls
/// now and then pays it in each call. Beside others' instructions AVX2 takes less time at all sizes there (docs/design/0013-torch-backend.md), and no more in a
/// loop of calls.
bool has_slow_wide_vectors();

/// Takes the best one that Highway supports now, but no vectors of 64 bytes where they are slow. Runs when the library is loaded; tests call it again.
void choose_target();

}  // namespace rondo::kernels

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0  // one alone: Highway makes no tables
#define RONDO_DISPATCH(function) HWY_DYNAMIC_DISPATCH(function)
#else
#define RONDO_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[rondo::kernels::target_index.load(std::memory_order_relaxed)]))
#endif
