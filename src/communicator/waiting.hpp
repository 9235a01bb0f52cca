// How a rank waits: it spins, then yields, then sleeps. With more ranks than processors it yields at once.
#pragma once

#include <sched.h>

#include <cstdint>

#include "executor/sleep.hpp"

namespace rondo {

/// How often a slow wait looks for reasons why it may never end.
inline constexpr std::int64_t check_interval_ns = 50'000;

struct WaitPolicy {
  std::uint32_t spins = 4000;                ///< looks at a flag, after the first, before a wait counts as slow; 0: others need the processor
  std::uint32_t turns = 4000;                ///< turns of the crank of who waits for started calls, likewise; over links each is a look at sockets
  std::int64_t yield_after_ns = 0;           ///< how long a slow wait goes on spinning
  std::int64_t sleep_after_ns = 5'000'000;   ///< how long it yields before it sleeps: to run again then takes some 60 µs, 1 % of that
  std::int64_t sleep_ns = 1'000'000;         ///< how long, unless a peer's signal ends it
  std::int64_t blind_sleep_ns = 50'000;      ///< where peers can't wake this rank
};

/// `over_links`: some answers come over a network, and take so long that a yield before each look is no loss to this rank and may be a gain to another.
inline WaitPolicy wait_policy(bool oversubscribed, bool over_links) {
  WaitPolicy policy;
  if (over_links) policy.turns = 16;
  if (oversubscribed) policy.spins = policy.turns = 0;
  else policy.yield_after_ns = over_links ? 20'000 : 1'000'000;
  return policy;
}

/// One turn of waiting, `waited_ns` after the wait became slow.
inline void wait_a_turn(const WaitPolicy& policy, std::int64_t waited_ns, Sleep& sleep) {
  if (waited_ns < policy.yield_after_ns) return;
  if (waited_ns < policy.sleep_after_ns) sched_yield();
  else sleep.turn(policy.sleep_ns, policy.blind_sleep_ns);
}

}  // namespace rondo
