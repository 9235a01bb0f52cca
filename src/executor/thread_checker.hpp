// What the thread sanitizer can't see: ranks that are threads map one word at different addresses, so to it nothing orders what they do around
// that word. Where they read one another's buffers, at one address, it has to be told. Other builds have none of this.
#pragma once

#include "executor/slot_layout.hpp"

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace rondo {

/// Its owner is about to raise the lane's progress, or to say in other words that it is done.
inline void tell_release([[maybe_unused]] LaneLine& own) {
#if defined(__SANITIZE_THREAD__)
  // a place that is never given back: the owner may have unmapped its line before the other rank hears of this
  if (own.checked_as.load(std::memory_order_relaxed) == 0) own.checked_as.store(reinterpret_cast<std::uintptr_t>(new std::uint64_t), std::memory_order_relaxed);
  __tsan_release(reinterpret_cast<void*>(own.checked_as.load(std::memory_order_relaxed)));
#endif
}

/// Another rank has seen that.
inline void tell_acquire([[maybe_unused]] const LaneLine& seen) {
#if defined(__SANITIZE_THREAD__)
  if (const std::uint64_t address = seen.checked_as.load(std::memory_order_relaxed); address != 0) __tsan_acquire(reinterpret_cast<void*>(address));
#endif
}

}  // namespace rondo
