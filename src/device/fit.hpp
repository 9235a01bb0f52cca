// Plan → what the blocks of a GPU run: compiled as for processors, and cut into slices for blocks.
#pragma once

#include <cstdint>

#include "device/job.hpp"
#include "executor/executable.hpp"
#include "rondo/plan.hpp"
#include "rondo/result.hpp"

namespace rondo::device {

/// What a plan is fitted for. Equal on all ranks, but for `rank`.
struct FitRequest {
  std::uint32_t rank = 0;
  std::uint64_t count = 0;  ///< elements of a block
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  AreaLayout layout;
  std::uint64_t slice_bytes = 0;    ///< of the staging, for each slice; 0: they share it
  std::uint32_t blocks = 1;         ///< that one rank's call may take
  std::uint32_t threads = 1;        ///< of a block
  std::uint64_t piece_bytes = 0;    ///< the longest piece; 0: as measured (docs/design/0020-device-executor.md)
  std::uint64_t plan_hash = 0;
  bool direct = false;              ///< peers' buffers can be read
  bool listed = false;              ///< the caller's buffers are lists
};

struct Fitted {
  Executable executable;
  std::uint32_t slices = 1;
  std::uint32_t threads = 1;
  std::uint64_t skew = 0;
  std::uint64_t slice_bytes = 0;
};

/// Compiles `plan`, lowered. Errors: as compile(); unsupported names what has no form on GPUs (all_to_all_v, lists by inlined plans), or which limit the plan
/// exceeds.
Result<Fitted> fit(const Plan& plan, const FitRequest& request);

/// The call of a fitted plan; where its arrays are, its buffers, digest and factor are left to the caller.
Job job_of(const Fitted& fitted, const Group& group, ReduceOp op);

}  // namespace rondo::device
