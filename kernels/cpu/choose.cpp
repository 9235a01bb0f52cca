#include "kernels/cpu/choose.hpp"

#include <cstdint>

namespace rondo::kernels {

bool has_slow_wide_vectors() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this runs while libraries are loaded
  return __builtin_cpu_is("skylake-avx512") != 0 || __builtin_cpu_is("cascadelake") != 0 || __builtin_cpu_is("cooperlake") != 0;
#else
  return false;
#endif
}

namespace {

std::size_t best_index() {
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
  return 0;
#else
  constexpr std::int64_t wide = HWY_AVX3 | (HWY_AVX3 - 1);
  std::int64_t targets = hwy::SupportedTargets();
  if (has_slow_wide_vectors() && (targets & ~wide) != 0) targets &= ~wide;
  hwy::ChosenTarget chosen;
  chosen.Update(targets);
  return chosen.GetIndex();
#endif
}

}  // namespace

std::atomic<std::size_t> target_index{best_index()};

void choose_target() { target_index.store(best_index(), std::memory_order_relaxed); }

}  // namespace rondo::kernels
