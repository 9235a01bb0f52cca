// The processors that a benchmark may use, and pinning to one of them.
#pragma once

#include <cstdint>

namespace bench_support {

/// The processors that this process was allowed when it first asked: pinning doesn't narrow them. At least 1.
std::uint32_t usable_cores();

/// Pins the calling thread, and threads it starts later, to usable processor number (index modulo usable_cores()).
/// False when the system refuses; errno says why.
bool pin_to_core(std::uint32_t index);

}  // namespace bench_support
