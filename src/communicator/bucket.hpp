// A bucket, judged and made a table, wherever its tensors are.
#pragma once

#include <string>

#include "executor/segments.hpp"
#include "rondo/communicator.hpp"
#include "rondo/result.hpp"

namespace rondo {

Error wrong_list(const std::string& detail);

/// A bucket's list in one piece. Errors: invalid_argument, of the wire type, or with the tensor.
Result<SegmentTable> table_of(const Bucket& bucket);

}  // namespace rondo
