// A bucket, judged and made a table, wherever its tensors are.
#pragma once

#include <string>

#include "communicator/plan_cache.hpp"
#include "executor/segments.hpp"
#include "rondo/communicator.hpp"
#include "rondo/result.hpp"

namespace rondo {

Error wrong_list(const std::string& detail);

/// A bucket's list in one piece. Errors: invalid_argument, of the wire type, or with the tensor.
Result<SegmentTable> table_of(const Bucket& bucket);

/// The all_reduce that a bucket with that table is.
PlanKey key_of(const Bucket& bucket, const SegmentTable& table);

}  // namespace rondo
