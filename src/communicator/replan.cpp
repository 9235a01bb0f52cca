// Virtual machines move between near and far cores, and so do threads that nobody has bound. Now and then the distance between the first and the last rank
// is probed again, and where it isn't what the plans were made for they are made anew (docs/design/0003-cost-model.md). When that is follows from the calls
// so far, which all ranks count alike, and not from a clock. Two calls that nobody asked for do it: a barrier, so that both ranks are there to bounce a flag,
// and a broadcast of what rank 0 found.
#include <cmath>
#include <limits>

#include "base/crash_point.hpp"
#include "base/log.hpp"
#include "communicator/impl.hpp"
#include "communicator/probe.hpp"

namespace rondo {
namespace {

/// Of PreparedPlan::work: where cores are near small calls do it in 1.6 ms, large ones in 3. A probe takes 4 µs there, a quarter or an eighth of a percent.
constexpr std::int64_t work_between_probes = 1 << 13;
constexpr ProbeEffort effort{3, 8, 100'000};
constexpr double moved_ratio = 1.6;  ///< two probes of cores that stay differ by up to a half; no plan is the best at one of two such distances alone

bool has_moved(double from_ns, double to_ns) { return to_ns > moved_ratio * from_ns || to_ns * moved_ratio < from_ns; }

}  // namespace

/// Ranks of one host that share memory and have a processor each, which all of them know alike.
std::int64_t Communicator::Impl::work_until_probe() const {
  if (parts_.size < 2 || parts_.oversubscribed || parts_.reach() != Reach::memory) return std::numeric_limits<std::int64_t>::max();
  return work_between_probes;
}

/// Between two calls, of a rank that makes no others meanwhile: then it is the same on all ranks. 0: no probe has told. Messages between pairs of ranks, whose
/// plans are made when either side first needs them, go by `parts_.probed_latency_ns`.
double Communicator::Impl::planned_latency_ns() const {
  return replanned_ || parts_.probed_latency_ns > 0 ? main_->cache.source().cost.latency_ns : 0;
}

/// One of a probe's two calls, with what rank 0 has found, before an operation of the main channel that could begin.
void Communicator::Impl::put_probe_call(Channel& channel, const PlanKey& key, double latency_ns) {
  auto operation = std::make_shared<Operation>();
  operation->alone = true;
  operation->probed = std::make_unique<double>(latency_ns);
  operation->task = Task{key, Binding{operation->probed.get(), operation->probed.get()}};
  put_first(channel, std::move(operation));
}

void Communicator::Impl::put_probe_first(Channel& channel) { put_probe_call(channel, PlanKey{}, 0); }  // a barrier

/// One of the two calls of a probe has ended, and has left the queue.
void Communicator::Impl::end_probe(Channel& channel, const Operation& ended) {
  if (!ended.error && ended.task.key.collective == Collective::barrier) {
    const double latency_ns = probe_latency_ns(*parts_.transport, parts_.layout, rank(), size(), channel.context.call, effort);
    crash_point("probe: measured");
    return put_probe_call(channel, PlanKey{1, 0, Collective::broadcast, DataType::f64, ReduceOp::sum}, latency_ns);
  }
  channel.until_probe = work_between_probes;
  const double known_ns = channel.cache.source().cost.latency_ns, probed_ns = *ended.probed;
  if (ended.error || probed_ns <= 0 || !has_moved(known_ns, probed_ns)) return;
  if (rank() == 0)
    log_info("the first and the last rank were " + std::to_string(std::lround(known_ns)) + " ns apart and are now " + std::to_string(std::lround(probed_ns)) +
             " ns: calls are planned anew");
  replanned_ = true;
  channel.cache.set_latency(probed_ns);
}

}  // namespace rondo
