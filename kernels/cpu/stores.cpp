#include "kernels/cpu/rows.hpp"
#include "rondo/kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <limits>

namespace rondo {

StoreTraits cpu_stores() {
  StoreTraits traits;
#if defined(__x86_64__)
  const bool intel = __builtin_cpu_is("intel") != 0;
  traits.copies_beat_stores = traits.vectors_beat_shifted_copies = traits.vectors_pull = __builtin_cpu_is("amd") != 0;
  traits.memory_beats_shared_cache = traits.claims_pay = intel;
  // Where short string moves are fast (FSRM), so are long ones.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool fast_strings = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & 1u << 4) != 0;
  traits.pulls_beat_copies = intel && !fast_strings;
  if (intel) traits.lines_beat_copies_up_to = fast_strings ? 16u << 10 : std::numeric_limits<std::uint64_t>::max();
  if (intel && fast_strings) traits.two_rows_from = 16u << 10;
#endif
  return traits;
}

std::uint64_t kernels::two_rows_from() {
  static const std::uint64_t bytes = cpu_stores().two_rows_from;
  return bytes;
}

}  // namespace rondo
