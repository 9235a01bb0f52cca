// Calls, one or those of a group, on the ranks that they are of.
#pragma once

#include <vector>

#include "group.hpp"

namespace rondo::nccl {

/// In host memory they have ended when this returns, else they are enqueued on their streams. The first failure.
Result<void> run_all(const std::vector<Enqueued>& calls);

}  // namespace rondo::nccl
