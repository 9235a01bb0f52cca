// Plain loops that the compiler vectorises: the arithmetic of the hand-written all-reduces.
#pragma once

#include <cstddef>

namespace floor_bench {

/// out[i] = a[i] + b[i]. `out` may be `a`.
void add(float* out, const float* a, const float* b, std::size_t count);

/// The same sum written to two places at once.
void add_twice(float* first, float* second, const float* a, const float* b, std::size_t count);

/// As add(), past the caches (where the machine can; else add()).
void add_streaming(float* out, const float* a, const float* b, std::size_t count);

/// As add_twice(), `first` past the caches.
void add_twice_streaming(float* first, float* second, const float* a, const float* b, std::size_t count);

/// A copy past the caches (where the machine can; else memcpy).
void copy_streaming(void* out, const void* in, std::size_t bytes);

}  // namespace floor_bench
