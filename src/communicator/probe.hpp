// How long a flag takes from one rank to another, here and now.
#pragma once

#include <atomic>
#include <cstdint>

#include "executor/slot_layout.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// How much a probe may take.
struct ProbeEffort {
  std::uint64_t batches;      ///< the best counts; the first holds the peer's arrival
  std::uint64_t round_trips;  ///< of a batch
  std::int64_t patience_ns;   ///< for the peer
};

/// Set by tests: what probes say instead of what they measured; 0: nothing.
inline constinit std::atomic<double> probed_for_tests{0};

/// Ranks 0 and size − 1 bounce a flag through words of their segments; the other ranks return at once. Rank 0 gets the one-way time in
/// ns, or 0 where it can't be told (no answer in time, or so long that a scheduler must have been in between); all others get 0.
/// `after_call`: the communicator's last call, the same on both ranks and another one for each probe.
double probe_latency_ns(Transport& transport, const ContextLayout& layout, std::uint32_t rank, std::uint32_t size, std::uint64_t after_call,
                        const ProbeEffort& effort);

}  // namespace rondo
