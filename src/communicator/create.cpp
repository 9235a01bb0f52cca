#include "communicator/create.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/crash_point.hpp"
#include "base/kernel_copy.hpp"
#include "communicator/hosts_transport.hpp"
#include "communicator/interfaces.hpp"
#include "communicator/last_words.hpp"
#include "communicator/layouts.hpp"
#include "communicator/probe.hpp"
#include "communicator/rank_info.hpp"
#include "communicator/share_memory.hpp"
#include "communicator/transports.hpp"
#include "communicator/views.hpp"
#include "rondo/calibration.hpp"
#include "topology/machine.hpp"

namespace rondo {
namespace {

constexpr ProbeEffort at_creation{12, 100, 20'000'000};  // a millisecond or less

Result<std::vector<RankInfo>> introduce(Bootstrap& bootstrap, const RankInfo& own, std::uint32_t size, std::int64_t deadline_ns) {
  auto gathered = bootstrap.all_gather(pack(own), deadline_ns);
  if (!gathered) return gathered.error();
  std::vector<RankInfo> infos;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    auto info = unpack_rank_info((*gathered)[rank]);
    if (!info) {
      info.error().detail = "rank " + std::to_string(rank) + ": " + info.error().detail;
      return info.error();
    }
    if (info->algorithm != own.algorithm || info->transport != own.transport)
      return Error{Errc::mismatch, "rank " + std::to_string(rank) + " was given algorithm '" + info->algorithm + "' and transport '" + info->transport +
                                       "', rank " + std::to_string(own.rank) + " '" + own.algorithm + "' and '" + own.transport + "'", 0, "bootstrap"};
    if (info->strict != own.strict)
      return Error{Errc::mismatch, "strict is asked for by rank " + std::to_string(info->strict ? rank : own.rank) + " and not by rank " +
                                       std::to_string(info->strict ? own.rank : rank), 0, "bootstrap"};
    if (info->integrity != own.integrity)
      return Error{Errc::mismatch, "integrity is asked for by rank " + std::to_string(info->integrity ? rank : own.rank) + " and not by rank " +
                                       std::to_string(info->integrity ? own.rank : rank), 0, "bootstrap"};
    if (info->coalesce_bytes != own.coalesce_bytes)
      return Error{Errc::mismatch, "rank " + std::to_string(rank) + " coalesces calls of fewer than " + std::to_string(info->coalesce_bytes) + " bytes, rank " +
                                       std::to_string(own.rank) + " of fewer than " + std::to_string(own.coalesce_bytes), 0, "bootstrap"};
    if (info->share_bytes < least_share())
      return Error{Errc::invalid_argument, "rank " + std::to_string(rank) + " has " + std::to_string(info->share_bytes) + " bytes of shared memory, at least " +
                                               std::to_string(least_share()) + " are needed", 0, "bootstrap"};
    infos.push_back(std::move(*info));
  }
  return infos;
}

/// Ranks per processor on this rank's machine: more than one means that waiting must yield.
bool is_oversubscribed(const Topology& topology, std::uint32_t host) {
  std::uint32_t here = 0;
  for (const RankPlace& place : topology.ranks) here += place.host == host;
  return here > topology.usable_cpus(host);
}

/// Success when every rank is ready, else the first failure, on every rank.
Result<void> agree(Bootstrap& bootstrap, const Result<void>& ready, std::uint32_t size, std::int64_t deadline_ns) {
  Address verdict;
  if (!ready) {
    verdict.bytes.resize(ready.error().detail.size());
    std::memcpy(verdict.bytes.data(), ready.error().detail.data(), verdict.bytes.size());
  }
  auto verdicts = bootstrap.all_gather(verdict, deadline_ns);
  if (!verdicts && (ready || verdicts.error().code == Errc::peer_failed)) return verdicts.error();  // who has gone, and not what that led to here
  if (!ready) return ready.error();
  for (std::uint32_t peer = 0; peer < size; ++peer)
    if (const auto& bytes = (*verdicts)[peer].bytes; !bytes.empty())
      return Error{Errc::peer_failed,
                   "rank " + std::to_string(peer) +
                       " could not join: " + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                   0, "bootstrap"};
  return {};
}

/// What failed here because a rank has gone; the next round says which.
Error cause_of(const Error& error, Bootstrap& bootstrap) {
  if (!bootstrap.is_over()) return error;
  const auto round = bootstrap.all_gather({}, deadline_after(std::chrono::seconds(1)));
  return round ? error : round.error();
}

/// The transport of a rank, not connected yet; where hosts are apart its memory is.
Result<std::unique_ptr<Transport>> make_transport(const CommunicatorParts& parts, const std::vector<RankInfo>& infos, std::uint64_t segment_bytes,
                                                  Bootstrap& bootstrap, std::int64_t deadline_ns) {
  const TransportRequest request{parts.rank, parts.size, segment_bytes, bootstrap.passes_descriptors(), parts.addresses, parts.interfaces, parts.hosts};
  auto transport = choose_transport(parts.options.transport, infos, request);
  if (!transport || parts.hosts.empty()) return transport;
  auto memory = share_memory(parts.hosts, infos, parts.rank, segment_bytes, bootstrap, deadline_ns);
  if (!memory) return cause_of(memory.error(), bootstrap);
  return make_hosts_transport(std::move(*memory), std::move(*transport), parts.hosts, parts.rank);
}

/// Every rank's segment or links, usable from here on.
Result<void> connect_all(Bootstrap& bootstrap, CommunicatorParts& parts, std::int64_t deadline_ns) {
  auto address = parts.transport->address();
  // A rank that can't take part says so by an empty address, so that the others learn it now and not at their deadline.
  crash_point("creation: own address made");
  auto addresses = bootstrap.all_gather(address ? *address : Address{}, deadline_ns);
  if (!address) return address.error();
  if (!addresses) return addresses.error();
  crash_point("creation: addresses known");
  Result<void> ready = parts.transport->connect(addresses->all(), deadline_ns);
  crash_point("creation: connected");
  if (ready) ready = parts.transport->commit(0, parts.layout.control_bytes());
  crash_point("creation: memory taken");
  // Nobody goes on before everybody has mapped everything.
  if (auto all = agree(bootstrap, ready, parts.size, deadline_ns); !all) return all;
  crash_point("creation: all agree");
  return {};
}

/// Whether the kernel lets this rank read and write all others' memory, which a container, a security module or an older kernel may forbid: found by trying.
bool reaches_all(const std::vector<RankInfo>& infos) {
  return std::all_of(infos.begin(), infos.end(), [](const RankInfo& info) {
    std::uint64_t found = 0;
    auto* const word = reinterpret_cast<std::byte*>(&found);
    return copy_from_process(info.process, word, info.trial_address, sizeof found) == 0 && found == info.trial_value &&
           copy_to_process(info.process, info.trial_address, word, sizeof found) == 0;
  });
}

/// What a rank has found out about this machine and its ranks, as all must know it: they plan from equal figures.
struct Findings {
  double latency_ns = 0;           ///< between the first and the last rank; 0: nobody could tell. Rank 0's counts
  std::uint64_t reaches_others = 0;  ///< 1: reaches_all(); must be so for every rank
};

Result<Findings> share_findings(Bootstrap& bootstrap, const Findings& own, std::int64_t deadline_ns) {
  Address told;
  told.bytes.resize(sizeof own);
  std::memcpy(told.bytes.data(), &own, sizeof own);
  auto all = bootstrap.all_gather(told, deadline_ns);
  if (!all) return all.error();
  Findings shared = own;
  for (std::uint32_t rank = 0; rank < all->all().size(); ++rank) {
    Findings findings;
    if ((*all)[rank].bytes.size() != sizeof findings)
      return Error{Errc::invalid_argument, "rank " + std::to_string(rank) + " did not say what it found", 0, "bootstrap"};
    std::memcpy(&findings, (*all)[rank].bytes.data(), sizeof findings);
    if (rank == 0) shared.latency_ns = findings.latency_ns;
    shared.reaches_others &= findings.reaches_others;
  }
  return shared;
}

/// The last that creation has to do: all ranks are there, and know what all have found.
void conclude(CommunicatorParts& parts, Bootstrap& bootstrap, const std::vector<RankInfo>& infos, const Findings& found) {
  parts.probed_latency_ns = found.latency_ns;
  parts.lifelines = bootstrap.into_lifelines();
  parts.lifeline_ranks = parts.family_ranks;
  if (found.reaches_others != 0)
    for (const RankInfo& info : infos) parts.processes.push_back(info.process);
}

/// All that this rank tells the others of itself.
Result<RankInfo> introduction(std::uint32_t rank, std::uint32_t size, const CommunicatorOptions& options, const Topology& machine, const View& view,
                              std::uint64_t share_bytes, std::uint32_t ranks_here, const Bootstrap& bootstrap) {
  auto host = host_identity();
  if (!host) return host.error();
  RankInfo own;
  own.rank = rank;
  own.host = std::move(*host);
  own.host_name = host_name();
  own.user = getuid();
  own.meeting = fresh_meeting();
  own.process = getpid();
  own.cpus = place_of_this_thread(machine).cpus;
  auto interfaces = own_interfaces(machine, own.cpus, [&] { return bootstrap.own_address(); });
  if (!interfaces) return interfaces.error();
  own.interfaces = std::move(*interfaces);
  own.infiniband = has_infiniband();
  own.share_bytes = share_bytes;
  if (ranks_here < size) own.symmetric_bytes = symmetric_room_bytes(size);  // threads of one process need none
  own.algorithm = options.algorithm;
  own.strict = options.strict;
  own.integrity = options.integrity;
  own.coalesce_bytes = options.coalesce_bytes;
  own.transport = options.transport;
  own.core = known_core_figures(machine);
  own.view = view.name;
  return own;
}

}  // namespace

Error given_up(const CommunicatorParts& parts, const Error& error) {
  if (!parts.has_segments()) return error;
  auto& status = *reinterpret_cast<StatusLine*>(parts.transport->segment(parts.rank) + parts.layout.status());
  leave_last_words(*parts.transport, parts.rank, status, error);
  // pairs with find_lost_peer(): acquire of state sees the last words
  status.state.store(static_cast<std::uint64_t>(MemberState::failed), std::memory_order_release);
  return error;
}

Result<void> meet_over_links(CommunicatorParts& parts, std::int64_t deadline_ns) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t peer = 0; peer < parts.size; ++peer)
    if (peer != parts.rank && !parts.shares_memory_with(peer)) others.push_back(peer);
  if (others.empty() && parts.has_segments()) return {};
  parts.status_links = std::make_unique<StatusLinks>(*parts.transport, parts.size, std::move(others));
  return parts.status_links->meet(deadline_ns);
}

Result<CommunicatorParts> join(Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t size, const CommunicatorOptions& options, const Topology& machine,
                               std::uint32_t ranks_here) {
  const std::int64_t deadline_ns = deadline_after(options.bootstrap_timeout);
  if (!config()) return config().error();
  auto share = take_share(config()->staging_bytes, size, ranks_here);
  if (!share) return share.error();
  crash_point("creation: share taken");

  const View view = view_of(machine);
  auto own = introduction(rank, size, options, machine, view, share->bytes(), ranks_here, bootstrap);
  if (!own) return own.error();
  // Of this moment, so that no other memory happens to hold it. The peers are done with it once all have shared their findings.
  std::uint64_t trial = static_cast<std::uint64_t>(now_ns()) ^ (std::uint64_t{rank} + 1) << 48;
  own->trial_address = reinterpret_cast<std::uint64_t>(&trial);
  own->trial_value = trial;
  auto infos = introduce(bootstrap, *own, size, deadline_ns);
  if (!infos) return infos.error();
  crash_point("creation: all introduced");
  auto topology = merge_views(bootstrap, view, *infos, rank, deadline_ns);
  if (!topology) return topology.error();

  CommunicatorParts parts;
  parts.token = std::to_string(infos->front().process) + "." + std::to_string(infos->front().trial_value);
  parts.rank = rank;
  parts.size = size;
  parts.options = options;
  parts.options.stays_away = nullptr;  // the ranks have come
  parts.core = infos->front().core;
  std::uint64_t common_share = share->bytes(), symmetric_bytes = own->symmetric_bytes;
  for (const RankInfo& info : *infos) {
    parts.peers.push_back("process " + std::to_string(info.process) + " on " + info.host_name);
    common_share = std::min(common_share, info.share_bytes);
    symmetric_bytes = std::min(symmetric_bytes, info.symmetric_bytes);
  }
  parts.topology = std::move(*topology);
  parts.oversubscribed = is_oversubscribed(parts.topology, parts.topology.ranks[rank].host);

  share->shrink(common_share);
  parts.share = std::move(*share);
  parts.layout = main_layout(common_share);
  parts.pair_layout = pair_layout(common_share, size);
  const std::uint64_t own_bytes = segment_bytes(common_share, size);

  parts.interfaces = deal_interfaces(*infos);
  parts.addresses = addresses_for_others(*infos, rank, parts.interfaces);
  parts.hosts = hosts_apart(options.transport, *infos);
  if (!parts.hosts.empty()) symmetric_bytes = 0;
  auto transport = make_transport(parts, *infos, own_bytes + room_for_children + symmetric_bytes, bootstrap, deadline_ns);
  if (!transport) return transport.error();
  crash_point("creation: transport chosen");
  if ((*transport)->segment_bytes() == 0) symmetric_bytes = 0;
  // The last words stay behind all else.
  parts.family = std::make_shared<Family>(std::move(*transport), rank, own_bytes - last_words_bytes, room_for_children, symmetric_bytes);
  parts.transport = std::shared_ptr<Transport>(parts.family, &parts.family->transport());
  for (std::uint32_t peer = 0; peer < size; ++peer) parts.family_ranks.push_back(peer);
  parts.ranks_here = ranks_here;
  if (!parts.has_segments()) parts.share.shrink(0);  // over links staging is private memory
  if (auto all = connect_all(bootstrap, parts, deadline_ns); !all) return all.error();
  if (auto met = meet_over_links(parts, deadline_ns); !met) return met.error();
  Findings found;
  if (!parts.oversubscribed) found.latency_ns = probe_latency_ns(*parts.transport, parts.layout, parts.rank, parts.size, 0, at_creation);
  found.reaches_others = config()->kernel_copies && parts.reach() == Reach::memory && ranks_here < size && reaches_all(*infos);
  crash_point("creation: probed");
  auto shared = share_findings(bootstrap, found, deadline_ns);
  if (!shared) return given_up(parts, shared.error());
  crash_point("creation: findings shared");
  conclude(parts, bootstrap, *infos, *shared);
  return parts;
}

}  // namespace rondo
