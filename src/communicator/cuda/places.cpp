#include "communicator/cuda/places.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/log.hpp"
#include "topology/device_paths.hpp"
#include "topology/gpu_links.hpp"

namespace rondo {

Result<Topology> topology_of_gpus(Communicator& host, const std::vector<std::string>& addresses) {
  // Of ranks that share one, none is placed: then nobody need know what links the GPUs, which may take NVML a second.
  if (std::set<std::string>(addresses.begin(), addresses.end()).size() != addresses.size()) return host.topology();
  std::string text;
  if (host.rank() == 0) {
    Topology topology = host.topology();
    if (const auto added = add_gpu_links(topology); !added) log_warn("what links the GPUs isn't known: " + added.error().detail);
    (void)place_on_gpus(topology, addresses);
    text = write_topology_json(topology);
  }
  std::uint64_t bytes = text.size();
  if (auto told = host.broadcast(&bytes, &bytes, 1, DataType::u64, 0); !told) return told.error();
  text.resize(bytes);
  if (auto told = host.broadcast(text.data(), text.data(), bytes, DataType::u8, 0); !told) return told.error();
  return read_topology_json(text);
}

double narrowest_way(const Topology& topology) {
  double narrowest = 0;
  const RankPaths paths(topology);
  for (std::uint32_t rank = 0; rank < topology.ranks.size(); ++rank) {
    if (!is_device(topology, topology.ranks[rank])) return 0;
    for (std::uint32_t other = 0; other < rank; ++other) {
      const double width = paths.between(rank, other).bandwidth_bytes_per_s;
      narrowest = narrowest == 0 ? width : std::min(narrowest, width);
    }
  }
  return narrowest;
}

}  // namespace rondo
