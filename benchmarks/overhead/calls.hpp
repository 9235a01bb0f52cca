// Ways to do an 8-byte all-reduce between two threads of this process, in blocks that take turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rondo/result.hpp"

namespace overhead_bench {

/// One way. Both ranks call it at the same time, each from a thread of its own.
class Way {
 public:
  virtual ~Way() = default;
  /// `calls` all-reduces of two floats; false when a result was wrong or a call failed.
  virtual bool run(std::uint32_t rank, std::uint32_t calls) = 0;
};

/// Flag and payload in one cache line, by hand: no plan, no check, no choice.
std::unique_ptr<Way> hand_written();
/// Communicator::all_reduce.
rondo::Result<std::unique_ptr<Way>> through_the_communicator();
/// The interpreter alone, with the digest that finds ranks which disagree, or without.
rondo::Result<std::unique_ptr<Way>> interpreted(bool digests);

/// A round measures every way once, between two measurements of ways[0].
struct Round {
  std::vector<double> ns;  ///< per call, by way
  double floor_after_ns = 0;
};

/// Two threads, each pinned to a processor of its own, `rounds` rounds of blocks of `calls` calls.
/// Errors: invalid_argument (fewer than two processors), invalid_plan (a wrong sum).
rondo::Result<std::vector<Round>> measure(const std::vector<Way*>& ways, std::uint32_t rounds, std::uint32_t calls);

}  // namespace overhead_bench
