#include "communicator/transports.hpp"

#include <array>
#include <string_view>

#include "base/text.hpp"
#include "bootstrap/own_address.hpp"
#include "transports/shm/shm.hpp"
#include "transports/tcp/tcp.hpp"
#ifdef RONDO_HAS_UCX
#include "transports/ucx/ucx.hpp"
#endif

namespace rondo {
namespace {

Result<std::unique_ptr<Transport>> try_shm(const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  for (const RankInfo& peer : ranks)
    if (auto served = probe_shm(ranks[request.rank].host, peer.host); !served) return served.error();
  if (!request.descriptors)
    return Error{Errc::unsupported, "the ranks met over a network, where memory can't be handed over", 0, "shm"};
  return make_shm_transport(ShmOptions{request.rank, request.size, request.segment_bytes});
}

Result<std::unique_ptr<Transport>> try_ucx([[maybe_unused]] const std::vector<RankInfo>& ranks, [[maybe_unused]] const TransportRequest& request) {
#ifdef RONDO_HAS_UCX
  return make_ucx_transport(UcxOptions{request.rank, request.size});
#else
  return Error{Errc::unsupported, "this library was built without UCX", 0, "ucx"};
#endif
}

Result<std::unique_ptr<Transport>> try_tcp(const std::vector<RankInfo>& /*ranks*/, const TransportRequest& request) {
  return make_tcp_transport(TcpOptions{request.rank, request.size, request.address});
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

}  // namespace

std::string address_for_others(const std::vector<RankInfo>& ranks, std::uint32_t rank) {
  if (!is_loopback(ranks[rank].address)) return ranks[rank].address;
  for (const RankInfo& peer : ranks)
    if (!is_loopback(peer.address))
      if (std::string own = address_towards(peer.address); !own.empty()) return own;
  return ranks[rank].address;
}

bool has_infiniband() {
#ifdef RONDO_HAS_UCX
  return ucx_beats_tcp();
#else
  return false;
#endif
}

Result<std::unique_ptr<Transport>> choose_transport(const std::string& name, const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  std::string names, reasons;
  for (const Entry& entry : entries) {
    if (!name.empty() && name != entry.name) {
      names += (names.empty() ? "" : ", ") + std::string(entry.name);
      continue;
    }
    auto transport = (name.empty() ? entry.make_unasked : entry.make)(ranks, request);
    if (transport || !name.empty()) return transport;
    reasons += (reasons.empty() ? "" : "; ") + transport.error().detail;
  }
  if (!name.empty()) return Error{Errc::invalid_argument, "unknown transport '" + name + "'; accepted: " + names, 0, "communicator"};
  return Error{Errc::unsupported, "no transport can serve these ranks: " + reasons, 0, "communicator"};
}

}  // namespace rondo
