#include "communicator/transports.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/config.hpp"
#include "base/text.hpp"
#include "communicator/interfaces_transport.hpp"
#include "transports/shm/shm.hpp"
#include "transports/tcp/tcp.hpp"
#ifdef RONDO_HAS_UCX
#include "transports/ucx/ucx.hpp"
#endif

namespace rondo {
namespace {

[[maybe_unused]] Error built_without_ucx() { return Error{Errc::unsupported, "this library was built without UCX", 0, "ucx"}; }

Result<std::unique_ptr<Transport>> try_shm(const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  for (const RankInfo& peer : ranks)
    if (auto served = probe_shm(ranks[request.rank].host, peer.host); !served) return served.error();
  if (!request.descriptors)
    return Error{Errc::unsupported, "the ranks met over a network, where memory can't be handed over", 0, "shm"};
  return make_memory_transport(request.rank, request.size, request.segment_bytes);
}

Result<std::unique_ptr<Transport>> try_ucx([[maybe_unused]] const std::vector<RankInfo>& ranks, [[maybe_unused]] const TransportRequest& request) {
#ifdef RONDO_HAS_UCX
  return make_ucx_transport(UcxOptions{request.rank, request.size, request.hosts});
#else
  return built_without_ucx();
#endif
}

Result<std::unique_ptr<Transport>> try_tcp(const std::vector<RankInfo>& /*ranks*/, const TransportRequest& request) {
  const auto& set = config();
  if (!set) return set.error();
  std::vector<std::unique_ptr<Transport>> links;
  for (const std::string& address : request.addresses) {
    auto made = make_tcp_transport(TcpOptions{request.rank, request.size, request.hosts, address, set->net_ports});
    if (!made) return made;
    links.push_back(std::move(*made));
  }
  return links.size() == 1 ? std::move(links.front()) : make_interfaces_transport(std::move(links), request.interfaces, request.rank);
}

/// Where it isn't asked for: on networks that are more than TCP's, if all ranks have them.
Result<std::unique_ptr<Transport>> try_ucx_unasked(const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  for (const RankInfo& rank : ranks)
    if (!rank.infiniband) return Error{Errc::unsupported, "not every rank's machine has InfiniBand", 0, "ucx"};
  return try_ucx(ranks, request);
}

struct Entry {
  std::string_view name;
  Result<std::unique_ptr<Transport>> (*make)(const std::vector<RankInfo>& ranks, const TransportRequest& request);
  Result<std::unique_ptr<Transport>> (*make_unasked)(const std::vector<RankInfo>& ranks, const TransportRequest& request);
};

/// All transports, the preferred ones first.
constexpr std::array entries{Entry{"shm", try_shm, try_shm}, Entry{"ucx", try_ucx, try_ucx_unasked}, Entry{"tcp", try_tcp, try_tcp}};
/// Begins the names of two: memory inside hosts, and links between them.
constexpr std::string_view memory_and = "shm+";

bool may_share_memory(const RankInfo& a, const RankInfo& b) { return a.host == b.host && a.user == b.user; }

bool all_share_memory(const std::vector<RankInfo>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankInfo& rank) { return may_share_memory(ranks.front(), rank); });
}

std::string accepted_names() {
  std::string names, pairs;
  for (const Entry& entry : entries) {
    names += std::string(entry.name) + ", ";
    if (entry.name != "shm") pairs += (pairs.empty() ? "" : ", ") + std::string(memory_and) + std::string(entry.name);
  }
  return names + pairs;
}

}  // namespace

std::vector<std::uint32_t> hosts_apart(const std::string& name, const std::vector<RankInfo>& ranks) {
  if ((!name.empty() && !name.starts_with(memory_and)) || all_share_memory(ranks)) return {};
  std::vector<std::uint32_t> hosts;
  bool shared = false;
  for (const RankInfo& rank : ranks) {
    const auto first = std::find_if(ranks.begin(), ranks.end(), [&](const RankInfo& other) { return may_share_memory(other, rank); });
    hosts.push_back(static_cast<std::uint32_t>(first - ranks.begin()));
    shared |= hosts.back() + 1 != hosts.size();
  }
  return shared ? hosts : std::vector<std::uint32_t>();
}

std::unique_ptr<Transport> make_memory_transport(std::uint32_t rank, std::uint32_t size, std::uint64_t segment_bytes) {
  return make_shm_transport(ShmOptions{rank, size, segment_bytes});
}

bool has_infiniband() {
#ifdef RONDO_HAS_UCX
  return ucx_beats_tcp();
#else
  return false;
#endif
}

Result<std::string> find_ucx() {
#ifdef RONDO_HAS_UCX
  return ucx_found();
#else
  return built_without_ucx();
#endif
}

Result<std::unique_ptr<Transport>> choose_transport(const std::string& name, const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  std::string wanted = name, reasons;
  if (name.starts_with(memory_and)) wanted = request.hosts.empty() && all_share_memory(ranks) ? "shm" : name.substr(memory_and.size());
  for (const Entry& entry : entries) {
    if (!wanted.empty() && wanted != entry.name) continue;
    auto transport = (wanted.empty() ? entry.make_unasked : entry.make)(ranks, request);
    if (transport || !wanted.empty()) return transport;
    reasons += (reasons.empty() ? "" : "; ") + transport.error().detail;
  }
  if (!name.empty()) return Error{Errc::invalid_argument, "unknown transport '" + name + "'; accepted: " + accepted_names(), 0, "communicator"};
  return Error{Errc::unsupported, "no transport can serve these ranks: " + reasons, 0, "communicator"};
}

}  // namespace rondo
