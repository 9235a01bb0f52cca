#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "rondo/topology.hpp"
#include "topology/places.hpp"

namespace rondo {
namespace {

std::vector<std::uint32_t> nodes_of(const Topology& topology, NodeKind kind) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < topology.nodes.size(); ++n)
    if (topology.nodes[n].kind == kind) nodes.push_back(n);
  return nodes;
}

// The processors this thread may run on; grows the mask until the kernel's fits.
std::vector<std::uint32_t> affinity() {
  std::vector<std::uint32_t> cpus;
  for (std::size_t bits = 1024; bits <= (1u << 20); bits *= 4) {
    cpu_set_t* set = CPU_ALLOC(bits);
    const std::size_t bytes = CPU_ALLOC_SIZE(bits);
    const bool read = set != nullptr && sched_getaffinity(0, bytes, set) == 0;
    for (std::size_t cpu = 0; read && cpu < bits; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<std::uint32_t>(cpu));
    CPU_FREE(set);
    if (read) break;
  }
  return cpus;
}

}  // namespace

std::int32_t deepest_node(const Topology& topology, std::uint32_t host, const std::vector<std::uint32_t>& cpus) {
  std::int32_t deepest = -1;
  if (cpus.empty()) return deepest;
  // Parents come first, so the last that fits is the deepest.
  for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
    const Node& node = topology.nodes[n];
    if (node.host == host && std::includes(node.cpus.begin(), node.cpus.end(), cpus.begin(), cpus.end()))
      deepest = static_cast<std::int32_t>(n);
  }
  return deepest;
}

std::uint64_t core_cache_bytes(const Topology& topology, const Node& core) {
  std::uint64_t largest = 0;
  for (const Node& node : topology.nodes)
    if (node.kind == NodeKind::cache && node.host == core.host && node.cpus == core.cpus) largest = std::max(largest, node.bytes);
  return largest;
}

std::uint64_t private_cache_bytes(const Topology& topology, std::uint32_t rank) {
  if (rank >= topology.ranks.size() || topology.ranks[rank].cpus.empty()) return 0;
  const RankPlace& place = topology.ranks[rank];
  const auto holds = [&](const Node& node) {
    return node.host == place.host && std::binary_search(node.cpus.begin(), node.cpus.end(), place.cpus[0]);
  };
  const auto core = std::find_if(topology.nodes.begin(), topology.nodes.end(), [&](const Node& node) { return node.kind == NodeKind::core && holds(node); });
  return core == topology.nodes.end() ? 0 : core_cache_bytes(topology, *core);
}

RankPlace place_of_this_thread(const Topology& topology) {
  RankPlace place;
  place.process = getpid();
  const auto allowed = affinity();
  const Node* machine = topology.nodes.empty() ? nullptr : &topology.nodes.front();
  if (machine != nullptr)
    std::set_intersection(allowed.begin(), allowed.end(), machine->cpus.begin(), machine->cpus.end(),
                          std::back_inserter(place.cpus));
  place.node = deepest_node(topology, 0, place.cpus);
  return place;
}

Topology with_ranks(Topology topology, std::uint32_t n) {
  auto places = nodes_of(topology, NodeKind::cpu);
  if (places.empty()) places = nodes_of(topology, NodeKind::gpu);
  topology.ranks.clear();
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    RankPlace place;
    place.process = rank;
    if (!places.empty()) {
      const std::uint32_t index = places[rank % places.size()];
      place.host = topology.nodes[index].host;
      place.cpus = topology.nodes[index].cpus;
      place.node = static_cast<std::int32_t>(index);
    }
    topology.ranks.push_back(std::move(place));
  }
  return topology;
}

}  // namespace rondo
