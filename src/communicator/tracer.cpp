#include "communicator/tracer.hpp"

#include <algorithm>
#include <exception>

#include "communicator/impl.hpp"

namespace rondo {
namespace {

TraceKind kind_of(StepKind kind) {
  switch (kind) {
    case StepKind::copy: return TraceKind::copy;
    case StepKind::reduce: return TraceKind::reduce;
    case StepKind::signal: return TraceKind::signal;
    case StepKind::wait: return TraceKind::wait;
  }
  return TraceKind::copy;
}

Error no_trace(Errc code, const std::string& detail) { return Error{code, detail, 0, "trace"}; }

}  // namespace

/// The number of the call's plan. A copy of the plan is kept, since what was prepared may go when another plan is used.
std::uint32_t Tracer::plan_of(const Channel& channel, const Operation& operation) {
  const PreparedPlan& prepared = *operation.prepared;
  const PlanKey& asked = operation.task.key;
  const CallIdentity& identity = prepared.identity;
  const Key key{&channel, identity.count, identity.plan_hash, identity.what() | std::uint64_t{identity.root} << 32, asked.symmetric, asked.in_place};
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  if (buffer_.full()) return 0;  // nothing more is recorded
  Known known{prepared.executable.plan, channel.context.rank(), {}};
  known.words.call = describe(identity);
  known.words.algorithm = prepared.name.data();
  if (identity.collective == Collective::send_recv) {
    known.words.peer = channel.context.member(1 - channel.context.rank());
    known.words.receives = channel.context.rank() == 1;
  }
  const auto number = static_cast<std::uint32_t>(known_.size());
  known_.push_back(std::move(known));
  numbers_[key] = number;
  return number;
}

Progress Tracer::advance(Channel& channel, Operation& operation, std::uint32_t spins) {
  OfChannel& traced = channels_[&channel];
  const std::uint64_t call = operation.run.call();
  if (call <= traced.left_out) return operation.run.advance(spins);
  if (traced.run.call != call) {
    traced.run.buffer = &buffer_;
    traced.run.begin(call, plan_of(channel, operation), std::max<std::size_t>(1, operation.prepared->executable.lanes.size()));
  }
  return operation.run.advance_traced(spins, traced.run);
}

Trace Tracer::finish(std::uint32_t rank) {
  Trace trace;
  trace.rank = rank;
  trace.dropped = buffer_.dropped();
  trace.events = buffer_.take();
  std::vector<Program> programs;
  for (Known& known : known_) {
    programs.push_back(known.plan.program(known.rank));
    for (const Lane& lane : programs.back().lanes) {
      auto& steps = known.words.lanes.emplace_back();
      for (const Step& step : lane.steps) steps.push_back(describe(step));
    }
    trace.plans.push_back(std::move(known.words));
  }
  // A copy that scales or divides runs as a reduction: the plan's word holds.
  for (TraceEvent& event : trace.events)
    if (event.kind != TraceKind::stall) event.kind = kind_of(programs[event.plan].lanes[event.lane].steps[event.step].kind);
  return trace;
}

Result<void> Communicator::Impl::start_trace(std::uint64_t capacity) {
  if (born_in_ != fork_generation()) return forked_error();
  if (capacity == 0) return no_trace(Errc::invalid_argument, "a trace of 0 events; accepted: 1 or more");
  std::unique_ptr<Tracer> tracer;
  try {
    tracer = std::make_unique<Tracer>(capacity);
  } catch (const std::exception&) {
    return no_trace(Errc::out_of_resources,
                    "no memory for a trace of " + std::to_string(capacity) + " events, " + std::to_string(sizeof(TraceEvent)) + " bytes each");
  }
  const TokenGuard guard(token_);
  if (tracer_ != nullptr) return no_trace(Errc::invalid_argument, "the communicator is traced already; stop_trace() first");
  tracer->leave_out_begun(*main_);
  for (const auto& [pair, channel] : pairs_) tracer->leave_out_begun(*channel);
  tracer_ = std::move(tracer);
  return {};
}

Result<Trace> Communicator::Impl::stop_trace() {
  if (born_in_ != fork_generation()) return forked_error();
  std::unique_ptr<Tracer> tracer;
  {
    const TokenGuard guard(token_);
    tracer = std::move(tracer_);
  }
  if (tracer == nullptr) return no_trace(Errc::invalid_argument, "the communicator isn't traced; start_trace() first");
  return tracer->finish(rank());
}

}  // namespace rondo
