// What tests of the kernel's copies have in common.
#pragma once

#include <sys/mman.h>

#include <cstdint>

inline constexpr std::uint64_t mapped_bytes = 16 << 20;

/// Memory of `mapped_bytes`, whose pages are there.
inline float* map(int protection = PROT_READ | PROT_WRITE) {
  return static_cast<float*>(mmap(nullptr, mapped_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
}

/// Whether this machine lets processes reach one another's memory; where it doesn't, there is nothing to test.
bool kernel_copies();
