// Plans that the program brings along: proved, then run as written.
#include "communicator/adopt.hpp"

#include <algorithm>
#include <functional>

#include "base/share_host.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

/// Message links take the transport's channels by their own numbers; those above are for other uses (status_links.hpp).
Result<void> check_channels(const Plan& plan) {
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps)
        for (const auto* operands : {&step.sources, &step.destinations})
          for (const Operand& operand : *operands)
            if (operand.buffer == Buffer::link && operand.index >= channels_per_use)
              return Error{Errc::unsupported, "plan '" + plan.header.algorithm + "' uses link channel " + std::to_string(operand.index) +
                                                  "; over messages they are below " + std::to_string(channels_per_use), 0, "use_plan"};
  return {};
}

/// Blocks of unknown lengths are proved as equal ones (0007-variable-blocks.md). The form of neutral plans for them, links alone, is that before lowering.
Plan of_equal_blocks(Plan plan) {
  if (plan.header.collective == Collective::all_to_all_v) plan.header.collective = Collective::all_to_all;
  return plan;
}

/// What ranks do with one another's memory, or wait for, needs one host.
Result<void> check_memory(const Plan& plan, const std::vector<std::uint32_t>& hosts) {
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps) {
        const auto apart = [&](std::uint32_t peer) { return peer != self && !share_host(hosts, rank, peer); };
        const auto beyond = [&](const Operand& operand) { return operand.buffer != Buffer::link && apart(operand.rank); };
        if (std::any_of(step.sources.begin(), step.sources.end(), beyond) || std::any_of(step.destinations.begin(), step.destinations.end(), beyond) ||
            (step.kind == StepKind::wait && apart(step.wait.rank)) || (step.once && apart(step.once->rank)))
          return Error{Errc::unsupported, "plan '" + plan.header.algorithm + "' takes memory that rank " + std::to_string(rank) + " shares with others ('" +
                                              describe(step) + "'); between these there are messages, so it has to be made of links", 0, "use_plan"};
      }
  return {};
}

}  // namespace

std::optional<Error> wrong_ranks(const Plan& plan, std::uint32_t ranks) {
  if (plan.header.ranks == ranks) return std::nullopt;
  return Error{Errc::invalid_argument, "plan '" + plan.header.algorithm + "' is for " + std::to_string(plan.header.ranks) + " ranks, the communicator has " +
                                           std::to_string(ranks), 0, "use_plan"};
}

Result<Proof> prove(const Plan& plan, const char* what) {
  Proof proof = verify(plan);
  if (proof.proved()) return proof;
  return Error{Errc::invalid_plan, "plan '" + plan.header.algorithm + "'" + what + " is wrong: " + to_string(proof.violations.front()), 0, "use_plan"};
}

Result<void> Communicator::Impl::adopt_plan(Channel& channel, const Plan& plan, bool unverified) {
  if (born_in_ != fork_generation()) return forked_error();
  if (broken_.load(std::memory_order_acquire)) return broken_error();
  if (auto error = wrong_ranks(plan, channel.context.size())) return *error;
  if (auto form = check_form(plan, unverified ? Form::runnable : Form::whole); !form) return form;
  if (plan.header.collective == Collective::all_to_all_v && !plan.header.neutral)
    return Error{Errc::unsupported,
                 "plan '" + plan.header.algorithm + "' is for all_to_all_v and not made of links: its waits may stand for other pairs' blocks", 0, "use_plan"};
  if (plan.header.wire)
    return Error{Errc::unsupported, "plan '" + plan.header.algorithm + "' has a wire type: all ranks end with the same bits by the planner's own alone",
                 0, "use_plan"};
  if (unverified && parts_.options.strict)
    return Error{Errc::unsupported, "plan '" + plan.header.algorithm + "' is not verified, and this communicator is strict", 0, "use_plan"};
  std::optional<Strictness> strictness;
  if (!unverified) {
    auto proved = prove(plan, "");
    if (!proved) return proved.error();
    strictness = proved->strictness;
    if (parts_.options.strict && proved->strictness == Strictness::loose)
      return Error{Errc::unsupported, "plan '" + plan.header.algorithm + "' is not strict, as this communicator is: " + proved->departure, 0, "use_plan"};
  }
  const Reach reach = channel.cache.source().options.limits.reach;
  if (reach != Reach::memory)
    if (auto channels = check_channels(plan); !channels) return channels;
  Plan ready = lower_for(channel.cache.source(), insert_shadows(plan));
  if (reach != Reach::memory)
    if (auto beyond = check_memory(ready, parts_.hosts); !beyond) return beyond;
  if (!unverified && reach != Reach::messages)
    if (auto proved = prove(of_equal_blocks(ready), ", lowered to mapped links,"); !proved) return proved.error();
  std::optional<Plan> direct;
  if (!unverified && reach == Reach::memory && plan.header.protocol == Protocol::direct) {
    direct = lower(plan);
    if (auto proved = prove(*direct, ", lowered to mapped links,"); !proved) return proved.error();
  }
  const TokenGuard guard(token_);
  if (!channel.queue.empty() || channel.sync_waits)  // they run prepared plans, which the new one replaces
    return Error{Errc::invalid_argument, "calls are still under way; wait for them before another plan is used", 0, "use_plan"};
  channel.cache.use(std::move(ready), std::move(direct), std::hash<std::string>{}(write_plan(plan)), strictness);
  return {};
}

}  // namespace rondo
