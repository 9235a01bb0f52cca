// Ranks as processes of one benchmark.
#pragma once

#include <cstdint>
#include <functional>

namespace bench_support {

/// What came of the ranks.
enum class Ended : std::uint8_t { well, not_started, failed };

/// Runs `rank` in a child process for each rank, which ends with what it returns, and waits for all. Children die with their parent. Where not all can be
/// started those that were are killed; some that ended badly make it `failed`.
Ended run_as_processes(std::uint32_t ranks, const std::function<int(std::uint32_t)>& rank);

}  // namespace bench_support
