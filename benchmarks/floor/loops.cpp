#include "floor/loops.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
// One binary, three instruction sets; the dynamic linker picks.
#define FLOOR_CLONES [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define FLOOR_CLONES
#endif

// In place `out` is one of the inputs, index by index: no iteration depends on another.
#if defined(__clang__)
#define FLOOR_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FLOOR_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace floor_bench {

FLOOR_CLONES void add(float* out, const float* a, const float* b, std::size_t count) {
  FLOOR_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

FLOOR_CLONES void add_twice(float* first, float* second, const float* a, const float* b, std::size_t count) {
  FLOOR_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    first[i] = sum;
    second[i] = sum;
  }
}

#if defined(__x86_64__)
namespace {
// Elements before `out` reaches a cache line; streaming stores want whole lines.
std::size_t head(const void* out, std::size_t count) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % 64;
  const std::size_t elements = past == 0 ? 0 : (64 - past) / sizeof(float);
  return elements < count ? elements : count;
}

void store_line(float* out, __m128 v0, __m128 v1, __m128 v2, __m128 v3) {
  _mm_stream_ps(out, v0);
  _mm_stream_ps(out + 4, v1);
  _mm_stream_ps(out + 8, v2);
  _mm_stream_ps(out + 12, v3);
}
}  // namespace

void add_streaming(float* out, const float* a, const float* b, std::size_t count) {
  std::size_t i = head(out, count);
  add(out, a, b, i);
  for (; i + 16 <= count; i += 16) {
    const auto sum = [&](std::size_t k) { return _mm_add_ps(_mm_loadu_ps(a + i + k), _mm_loadu_ps(b + i + k)); };
    store_line(out + i, sum(0), sum(4), sum(8), sum(12));
  }
  add(out + i, a + i, b + i, count - i);
  _mm_sfence();
}

void add_twice_streaming(float* first, float* second, const float* a, const float* b, std::size_t count) {
  std::size_t i = head(first, count);
  add_twice(first, second, a, b, i);
  for (; i + 16 <= count; i += 16) {
    __m128 v[4];
    for (std::size_t k = 0; k < 4; ++k) {
      v[k] = _mm_add_ps(_mm_loadu_ps(a + i + 4 * k), _mm_loadu_ps(b + i + 4 * k));
      _mm_storeu_ps(second + i + 4 * k, v[k]);
    }
    store_line(first + i, v[0], v[1], v[2], v[3]);
  }
  add_twice(first + i, second + i, a + i, b + i, count - i);
  _mm_sfence();
}

void copy_streaming(void* out, const void* in, std::size_t bytes) {
  auto* to = static_cast<float*>(out);
  const auto* from = static_cast<const float*>(in);
  const std::size_t count = bytes / sizeof(float);
  std::size_t i = head(to, count);
  std::memcpy(to, from, i * sizeof(float));
  for (; i + 16 <= count; i += 16) {
    const auto load = [&](std::size_t k) { return _mm_loadu_ps(from + i + k); };
    store_line(to + i, load(0), load(4), load(8), load(12));
  }
  std::memcpy(to + i, from + i, bytes - i * sizeof(float));
  _mm_sfence();
}
#else
void add_streaming(float* out, const float* a, const float* b, std::size_t count) {
  add(out, a, b, count);
}
void add_twice_streaming(float* first, float* second, const float* a, const float* b, std::size_t count) {
  add_twice(first, second, a, b, count);
}
void copy_streaming(void* out, const void* in, std::size_t bytes) {
  std::memcpy(out, in, bytes);
}
#endif

}  // namespace floor_bench
