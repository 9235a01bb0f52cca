#include "communicator/transports.hpp"

#include "transports/shm/shm.hpp"
#ifdef RONDO_HAS_UCX
#include "transports/ucx/ucx.hpp"
#endif

namespace rondo {
namespace {

Result<std::unique_ptr<Transport>> try_shm(const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  for (const RankInfo& peer : ranks)
    if (auto served = probe_shm(ranks[request.rank].host, peer.host); !served) return served.error();
  return make_shm_transport(ShmOptions{request.rank, request.size, request.segment_bytes});
}

Result<std::unique_ptr<Transport>> try_ucx([[maybe_unused]] const TransportRequest& request) {
#ifdef RONDO_HAS_UCX
  return make_ucx_transport(UcxOptions{request.rank, request.size});
#else
  return Error{Errc::unsupported, "this library was built without UCX", 0, "ucx"};
#endif
}

}  // namespace

Result<std::unique_ptr<Transport>> choose_transport(const std::string& name, const std::vector<RankInfo>& ranks, const TransportRequest& request) {
  if (name == "shm") return try_shm(ranks, request);
  if (name == "ucx") return try_ucx(request);
  if (!name.empty()) return Error{Errc::invalid_argument, "unknown transport '" + name + "'; accepted: shm, ucx", 0, "communicator"};
  auto shm = try_shm(ranks, request);
  if (shm) return shm;
  auto ucx = try_ucx(request);
  if (ucx) return ucx;
  return Error{Errc::unsupported, "no transport can serve these ranks: " + shm.error().detail + "; " + ucx.error().detail, 0, "communicator"};
}

}  // namespace rondo
