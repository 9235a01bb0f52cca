// all_reduce_fused with random lists, judged against one buffer that has all elements.
#pragma once

#include <cstdint>
#include <string>

#include "benchmarks/bench/data.hpp"
#include "rondo/communicator.hpp"
#include "support/uneven.hpp"

struct ListTrial {
  Shape shape;                 ///< an all_reduce; ranks and rank are the communicator's
  std::uint32_t tensors = 1;   ///< at most; some are empty, some have one element
  std::uint64_t seed = 0;      ///< of the data; where tensors end is another matter on each rank
  Way way = Way::run;
  /// The right bits are all_reduce()'s; else those of a list of one tensor: among threads all_reduce() runs other plans.
  bool against_plain = true;
};

/// One call. Tensors lie apart and in any order, some in place; inputs and gaps must stay untouched. "" when all is well.
std::string reduce_list(rondo::Communicator& communicator, ListTrial trial);
