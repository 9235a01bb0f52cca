#include "hand_loops.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void add_avx512(const rondo::KernelCall& call) {
  const auto* a = static_cast<const float*>(call.sources[0]);
  const auto* b = static_cast<const float*>(call.sources[1]);
  auto* to = static_cast<float*>(call.destinations[0]);
  std::uint64_t i = 0;
  for (; i + 64 <= call.count; i += 64) {
    const __m512 v0 = _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i));
    const __m512 v1 = _mm512_add_ps(_mm512_loadu_ps(a + i + 16), _mm512_loadu_ps(b + i + 16));
    const __m512 v2 = _mm512_add_ps(_mm512_loadu_ps(a + i + 32), _mm512_loadu_ps(b + i + 32));
    const __m512 v3 = _mm512_add_ps(_mm512_loadu_ps(a + i + 48), _mm512_loadu_ps(b + i + 48));
    _mm512_storeu_ps(to + i, v0);
    _mm512_storeu_ps(to + i + 16, v1);
    _mm512_storeu_ps(to + i + 32, v2);
    _mm512_storeu_ps(to + i + 48, v3);
  }
  for (; i < call.count; ++i) to[i] = a[i] + b[i];
}

__attribute__((target("avx2"))) void add_avx2(const rondo::KernelCall& call) {
  const auto* a = static_cast<const float*>(call.sources[0]);
  const auto* b = static_cast<const float*>(call.sources[1]);
  auto* to = static_cast<float*>(call.destinations[0]);
  std::uint64_t i = 0;
  for (; i + 32 <= call.count; i += 32) {
    const __m256 v0 = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
    const __m256 v1 = _mm256_add_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8));
    const __m256 v2 = _mm256_add_ps(_mm256_loadu_ps(a + i + 16), _mm256_loadu_ps(b + i + 16));
    const __m256 v3 = _mm256_add_ps(_mm256_loadu_ps(a + i + 24), _mm256_loadu_ps(b + i + 24));
    _mm256_storeu_ps(to + i, v0);
    _mm256_storeu_ps(to + i + 8, v1);
    _mm256_storeu_ps(to + i + 16, v2);
    _mm256_storeu_ps(to + i + 24, v3);
  }
  for (; i < call.count; ++i) to[i] = a[i] + b[i];
}
#endif

}  // namespace

__attribute__((noinline)) void add_plain(const rondo::KernelCall& call) {
  auto* to = static_cast<float*>(call.destinations[0]);
  for (std::uint64_t i = 0; i < call.count; ++i) {
    float total = static_cast<const float*>(call.sources[0])[i];
    for (std::uint32_t s = 1; s < call.source_count; ++s) total += static_cast<const float*>(call.sources[s])[i];
    to[i] = total;
  }
}

HandLoop hand_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512 loop", add_avx512};
  if (__builtin_cpu_supports("avx2")) return {"AVX2 loop", add_avx2};
#endif
  return {"none", nullptr};
}

}  // namespace bench
