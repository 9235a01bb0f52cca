// How much memory this process can still take, and what says so.
#pragma once

#include <cstdint>

namespace rondo {

struct MemoryLeft {
  std::uint64_t bytes = 0;  ///< 0: unknown
  const char* bound = "";   ///< what sets it, as in "5 bytes are available"
};

/// The least of what the kernel says is available, the control group's limit, and what strict overcommit leaves. Reads /proc: some 100 µs.
MemoryLeft memory_left();

}  // namespace rondo
