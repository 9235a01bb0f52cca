#include "communicator/probe.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace rondo {
namespace {

constexpr double longest_believable_ns = 3000;
constexpr unsigned call_shift = 16;  ///< a word is call << 16 | round trips so far: never below one of an earlier probe

/// Waits for the peer's word to reach `value`. Looks at the clock now and then only.
bool reached(const SharedWord& word, std::uint64_t value, std::int64_t deadline_ns) {
  for (std::uint32_t spin = 1;; ++spin) {
    if (word.load(std::memory_order_acquire) >= value) return true;
    if (spin % 1024 == 0 && now_ns() > deadline_ns) return false;
  }
}

/// probe_latency_ns() of the first and the last rank.
double bounce(Transport& transport, const ContextLayout& layout, std::uint32_t rank, std::uint32_t size, std::uint64_t after_call, const ProbeEffort& effort) {
  const auto word = [&](std::uint32_t whose) -> SharedWord& {
    return reinterpret_cast<LaneLine*>(transport.segment(whose) + layout.lane(0))->bounced;
  };
  SharedWord& own = word(rank);
  const SharedWord& peer = word(rank == 0 ? size - 1 : 0);
  const std::int64_t deadline_ns = now_ns() + effort.patience_ns;
  std::uint64_t value = after_call << call_shift;
  double best = 0;
  for (std::uint64_t batch = 0; batch < effort.batches; ++batch) {
    const std::int64_t begin = now_ns();
    for (std::uint64_t i = 0; i < effort.round_trips; ++i) {
      ++value;
      if (rank == 0) own.store(value, std::memory_order_release);
      if (!reached(peer, value, deadline_ns)) return 0;
      if (rank != 0) own.store(value, std::memory_order_release);
    }
    const double one_way = static_cast<double>(now_ns() - begin) / static_cast<double>(effort.round_trips) / 2;
    if (batch != 0) best = best == 0 ? one_way : std::min(best, one_way);
  }
  return best;
}

}  // namespace

double probe_latency_ns(Transport& transport, const ContextLayout& layout, std::uint32_t rank, std::uint32_t size, std::uint64_t after_call,
                        const ProbeEffort& effort) {
  if (size < 2 || (rank != 0 && rank != size - 1) || transport.segment(0) == nullptr || transport.segment(size - 1) == nullptr) return 0;
  const double measured = bounce(transport, layout, rank, size, after_call, effort), said = probed_for_tests.load(std::memory_order_relaxed);
  const double latency_ns = said != 0 ? said : measured;
  return rank == 0 && latency_ns < longest_believable_ns ? latency_ns : 0;
}

}  // namespace rondo
