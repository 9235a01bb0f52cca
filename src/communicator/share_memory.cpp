#include "communicator/share_memory.hpp"

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/handshake.hpp"
#include "communicator/hosts_transport.hpp"
#include "communicator/transports.hpp"

namespace rondo {
namespace {

constexpr std::chrono::seconds patience(30);

Result<Gathered> gather(const std::vector<std::uint32_t>& neighbours, std::uint32_t place, const std::string& meeting, const Address& own,
                        std::int64_t deadline_ns) {
  auto bootstrap = make_local_bootstrap(place, static_cast<std::uint32_t>(neighbours.size()), meeting, deadline_ns);
  if (!bootstrap) return bootstrap.error();
  return (*bootstrap)->all_gather(own, deadline_ns);
}

}  // namespace

std::string fresh_meeting() { return hex_of(fresh_nonce()); }

Result<std::unique_ptr<Transport>> share_memory(const std::vector<std::uint32_t>& hosts, const std::vector<RankInfo>& infos, std::uint32_t rank,
                                                std::uint64_t segment_bytes, std::int64_t deadline_ns) {
  const std::vector<std::uint32_t> neighbours = ranks_of_host(hosts, rank);
  const auto place = static_cast<std::uint32_t>(std::find(neighbours.begin(), neighbours.end(), rank) - neighbours.begin());
  auto memory = make_memory_transport(place, static_cast<std::uint32_t>(neighbours.size()), segment_bytes);
  auto address = memory->address();
  if (!address) return address.error();
  deadline_ns = std::min(deadline_ns, deadline_after(patience));
  Gathered addresses;
  if (neighbours.size() > 1) {
    auto gathered = gather(neighbours, place, infos[neighbours.front()].meeting, *address, deadline_ns);
    if (!gathered) return gathered.error();
    addresses = std::move(*gathered);
  }
  const auto connected = memory->connect(neighbours.size() > 1 ? addresses.all() : std::vector<Address>(1), deadline_ns);
  if (!connected) return connected.error();
  return memory;
}

}  // namespace rondo
