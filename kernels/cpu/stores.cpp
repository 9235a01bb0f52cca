#include "rondo/kernels.hpp"

namespace rondo {

StoreTraits cpu_stores() {
  StoreTraits traits;
#if defined(__x86_64__)
  const bool intel = __builtin_cpu_is("intel") != 0;
  traits.copies_beat_stores = traits.vectors_beat_shifted_copies = __builtin_cpu_is("amd") != 0;
  traits.memory_beats_shared_cache = intel;
  traits.lines_beat_short_copies = intel;
#endif
  return traits;
}

}  // namespace rondo
