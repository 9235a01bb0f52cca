#include "communicator/channels.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/config.hpp"
#include "communicator/layouts.hpp"

namespace rondo {
namespace {

/// Threads of one process read one another's memory as it is.
bool reads_anywhere(const CommunicatorParts& parts) {
  return parts.size > 1 && parts.ranks_here >= parts.size && parts.has_segments();
}

PlanSource plan_source(const CommunicatorParts& parts, const ContextLayout& layout, std::uint32_t ranks, std::uint32_t rank, Reach reach) {
  PlanSource source;
  source.topology = &parts.topology;
  source.cost = cost_model(parts.topology, ranks, parts.core);
  if (parts.probed_latency_ns > 0) set_latency(source.cost, parts.probed_latency_ns, probed_source);
  const StoreTraits stores = cpu_stores();
  const std::uint64_t own_cache = stores.memory_beats_shared_cache ? private_cache_bytes(parts.topology, parts.rank) : 0;
  const auto cache = static_cast<double>(own_cache != 0 ? own_cache : source.cost.cache_bytes);
  source.stream_above_bytes = static_cast<std::uint64_t>(std::max(1.0, source.cost.core.stream_parts * cache)) - 1;
  source.stores = stores;
  source.options.limits = limits_of(layout);
  source.options.limits.reach = reach;
  source.one_process = reads_anywhere(parts);
  source.layout = layout;
  source.rank = rank;
  source.ranks = ranks;
  source.options.algorithm = parts.options.algorithm;
  source.options.strict = parts.options.strict;
  source.options.checked = parts.options.integrity;
  return source;
}

/// Each signal looks at all peers: with many that would cost more than a nap.
constexpr std::uint32_t most_watched = 32;

/// Where a member of the communicator says that it sleeps.
SleepWord* sleep_word(const CommunicatorParts& parts, std::uint32_t rank) {
  return &reinterpret_cast<SleepLine*>(parts.transport->segment(rank) + parts.layout.sleep())->asleep;
}

/// Lane 0 of a member of the communicator, in its context of all ranks.
LaneLine& main_lane(const CommunicatorParts& parts, std::uint32_t rank) {
  return *reinterpret_cast<LaneLine*>(parts.transport->segment(rank) + parts.layout.lane(0));
}

using LocalArea = std::unique_ptr<std::byte, FreeArea>;

/// calloc: the staging of plans over links is rarely used whole, and pages come when touched.
LocalArea make_local_area(const ContextLayout& layout) {
  return LocalArea(static_cast<std::byte*>(std::calloc(layout.total_bytes() + line_pair, 1)));
}

std::byte* aligned(const LocalArea& area) {
  const auto address = reinterpret_cast<std::uintptr_t>(area.get());
  return area.get() + (line_pair - address % line_pair) % line_pair;
}

}  // namespace

bool sleepers_are_woken(const CommunicatorParts& parts) { return parts.reach() == Reach::memory && parts.size <= most_watched; }

std::unique_ptr<Channel> make_main_channel(const CommunicatorParts& parts) {
  std::vector<std::byte*> areas(parts.size, nullptr);
  std::vector<std::uint32_t> members(parts.size);
  for (std::uint32_t rank = 0; rank < parts.size; ++rank) {
    members[rank] = rank;
    areas[rank] = parts.transport->segment(rank);
  }
  LocalArea local;
  if (areas[parts.rank] == nullptr) {
    local = make_local_area(parts.layout);
    areas[parts.rank] = aligned(local);
  }
  PlanSource source = plan_source(parts, parts.layout, parts.size, parts.rank, parts.reach());
  source.cost.network.interfaces = parts.interfaces;
  source.hosts = parts.hosts;
  source.kernel_copies = !parts.processes.empty();
  auto channel = std::make_unique<Channel>(Context(parts.layout, parts.rank, std::move(areas), std::move(members), parts.transport.get()), std::move(source));
  channel->staging_offset = parts.layout.staging(0);
  for (std::uint32_t rank = 0; rank < parts.size && sleepers_are_woken(parts); ++rank)
    if (rank != parts.rank) channel->context.sleepers.push_back(sleep_word(parts, rank));
  if (reads_anywhere(parts)) channel->context.homes = Homes(std::vector<std::uintptr_t>(parts.size, 0), Homes::everything);
  channel->context.processes = parts.processes;
  if (const SymmetricRoom& room = parts.family->symmetric(); room.bytes() != 0) {
    std::vector<std::uintptr_t> homes;
    for (const std::uint32_t rank : parts.family_ranks)
      homes.push_back(reinterpret_cast<std::uintptr_t>(parts.family->transport().segment(rank) + room.offset()));
    channel->context.homes = Homes(std::move(homes), room.bytes());
  }
  channel->local_area = std::move(local);
  return channel;
}

Result<std::unique_ptr<Channel>> make_pair_channel(const CommunicatorParts& parts, std::uint32_t from, std::uint32_t to) {
  const ContextLayout& layout = parts.pair_layout;
  const auto offset = [&](bool sends, std::uint32_t peer) {
    return parts.layout.total_bytes() + (std::uint64_t{peer} * 2 + (sends ? 0 : 1)) * layout.total_bytes();
  };
  const bool sends = parts.rank == from;
  const std::uint32_t own = sends ? 0 : 1;
  const std::uint64_t own_offset = offset(sends, sends ? to : from);
  std::vector<std::byte*> areas(2, nullptr);
  LocalArea local;
  StagingShare share;
  const bool mapped = parts.shares_memory_with(from) && parts.shares_memory_with(to);
  if (mapped) {
    areas[0] = parts.transport->segment(from) + offset(true, to);
    areas[1] = parts.transport->segment(to) + offset(false, from);
    // Data lie in the sender's slots alone; the receiver has control words.
    auto taken = take_pair_share(config()->staging_bytes, sends ? layout.total_bytes() : layout.control_bytes());
    if (!taken) return taken.error();
    share = std::move(*taken);
    if (auto committed = parts.transport->commit(own_offset, layout.control_bytes()); !committed) return committed.error();
  } else {
    local = make_local_area(layout);
    areas[own] = aligned(local);
  }
  const std::uint32_t first_channel = from < to ? upward_channels : downward_channels;
  PlanSource source = plan_source(parts, layout, 2, own, mapped ? Reach::memory : Reach::messages);
  source.kernel_copies = !parts.processes.empty();
  auto channel = std::make_unique<Channel>(Context(layout, own, std::move(areas), {from, to}, parts.transport.get(), first_channel), std::move(source));
  if (!parts.processes.empty()) {
    channel->context.processes = {parts.processes[from], parts.processes[to]};
    channel->context.take_broken({&main_lane(parts, from).broken, &main_lane(parts, to).broken});
  }
  channel->local_area = std::move(local);
  channel->share = std::move(share);
  if (sleepers_are_woken(parts)) channel->context.sleepers = {sleep_word(parts, sends ? to : from)};
  channel->staging_offset = own_offset + layout.staging(0);
  channel->staging_committed = !sends;
  return channel;
}

}  // namespace rondo
