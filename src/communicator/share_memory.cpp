#include "communicator/share_memory.hpp"

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "bootstrap/handshake.hpp"
#include "communicator/hosts_transport.hpp"
#include "communicator/transports.hpp"

namespace rondo {
namespace {

constexpr std::chrono::seconds patience(30);

}  // namespace

std::string fresh_meeting() { return hex_of(fresh_nonce()); }

Result<std::unique_ptr<Transport>> share_memory(const std::vector<std::uint32_t>& hosts, const std::vector<RankInfo>& infos, std::uint32_t rank,
                                                std::uint64_t segment_bytes, Bootstrap& all, std::int64_t deadline_ns) {
  const std::vector<std::uint32_t> neighbours = ranks_of_host(hosts, rank);
  const auto place = static_cast<std::uint32_t>(std::find(neighbours.begin(), neighbours.end(), rank) - neighbours.begin());
  const auto size = static_cast<std::uint32_t>(neighbours.size());
  auto memory = make_memory_transport(place, size, segment_bytes);
  auto address = memory->address();
  if (!address) return address.error();
  deadline_ns = std::min(deadline_ns, deadline_after(patience));
  auto bootstrap = make_local_bootstrap(place, size, infos[neighbours.front()].meeting, deadline_ns, [&](std::uint32_t) { return all.is_over(); });
  if (!bootstrap) return bootstrap.error();
  auto addresses = (*bootstrap)->all_gather(*address, deadline_ns);
  if (!addresses) return addresses.error();
  if (auto connected = memory->connect(addresses->all(), deadline_ns); !connected) return connected.error();
  return memory;
}

}  // namespace rondo
