// How the ranks of a network's bootstrap connect to their parents in the tree, after they have met at rank 0.
#pragma once

#include <cstdint>

#include "bootstrap/correspondence.hpp"
#include "bootstrap/job_key.hpp"
#include "rondo/result.hpp"

namespace rondo {

/// From the next round on rounds go by a tree in which nobody has more than `fan_out` children. Each parent listens as for a unique id, and its children hear
/// that through rank 0. Does nothing where rank 0 has room for all. Blocks, and fails as a round does, on every rank.
Result<void> branch_out(Correspondence& correspondence, std::uint32_t fan_out, const JobKey& key, std::int64_t deadline_ns);

}  // namespace rondo
