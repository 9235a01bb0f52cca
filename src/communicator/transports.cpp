#include "communicator/transports.hpp"

#include <array>
#include <string_view>

#include "transports/shm/shm.hpp"
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

struct Entry {
  std::string_view name;
  Result<std::unique_ptr<Transport>> (*make)(const std::vector<RankInfo>& ranks, const TransportRequest& request);
};

/// All transports, the preferred ones first.
constexpr std::array entries{Entry{"shm", try_shm}, Entry{"ucx", try_ucx}};

}  // namespace

Result<std::unique_ptr<Transport>> choose_transport(const std::string& name, const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  std::string names, reasons;
  for (const Entry& entry : entries) {
    if (!name.empty() && name != entry.name) {
      names += (names.empty() ? "" : ", ") + std::string(entry.name);
      continue;
    }
    auto transport = entry.make(ranks, request);
    if (transport || !name.empty()) return transport;
    reasons += (reasons.empty() ? "" : "; ") + transport.error().detail;
  }
  if (!name.empty()) return Error{Errc::invalid_argument, "unknown transport '" + name + "'; accepted: " + names, 0, "communicator"};
  return Error{Errc::unsupported, "no transport can serve these ranks: " + reasons, 0, "communicator"};
}

}  // namespace rondo
