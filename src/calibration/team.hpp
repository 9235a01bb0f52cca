// Threads on processors of their own that work on one measurement together.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rondo/result.hpp"

namespace rondo::calibration {

/// Runs `work(k)` on a thread pinned to processor cpus[k], for all k at once, and waits for all. Where the system refuses a processor its thread runs
/// elsewhere. Error: out_of_resources, after which none has run.
Result<void> run_on(const std::vector<std::uint32_t>& cpus, const std::function<void(std::size_t)>& work);

}  // namespace rondo::calibration
