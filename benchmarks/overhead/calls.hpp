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

/// A way that one thread can also go for both ranks in turn: instructions alone, no line moves from core to core.
class SteppedWay : public Way {
 public:
  /// `calls` all-reduces, each done by both ranks; false when one was wrong.
  virtual bool run_both(std::uint32_t calls) = 0;
};

/// Flag and payload in one cache line, by hand: no plan, no check, no choice.
std::unique_ptr<Way> hand_written();
/// Communicator::all_reduce.
rondo::Result<std::unique_ptr<Way>> through_the_communicator();
/// The interpreter alone, with the digest that finds ranks which disagree, and without. Both run in the same memory: where
/// shared lines happen to lie moves a call's time by more than the digest does.
struct Interpreters {
  std::unique_ptr<SteppedWay> with_digest;
  std::unique_ptr<SteppedWay> without_digest;
};
rondo::Result<Interpreters> interpreters();

/// A round measures every way once, between two measurements of ways[0].
struct Round {
  std::vector<double> ns;  ///< per call, by way
  double floor_after_ns = 0;
};

/// What the first way takes more than the second for one rank's call when one thread runs both ranks, in ns; by round.
/// Errors: invalid_plan (a wrong sum).
rondo::Result<std::vector<double>> measure_difference(SteppedWay& first, SteppedWay& second, std::uint32_t rounds, std::uint32_t calls);

/// Two threads, each pinned to a processor of its own, `rounds` rounds of blocks of `calls` calls.
/// Errors: invalid_argument (fewer than two processors), invalid_plan (a wrong sum).
rondo::Result<std::vector<Round>> measure(const std::vector<Way*>& ways, std::uint32_t rounds, std::uint32_t calls);

}  // namespace overhead_bench
