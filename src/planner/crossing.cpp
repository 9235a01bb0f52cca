#include "planner/crossing.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "planner/terms.hpp"
#include "topology/costs.hpp"

namespace rondo::planner {
namespace {

constexpr std::size_t most_looked_at = 64;  ///< ranks of a host

/// The widest interface of any host's that leads to the network; none known: nothing.
const Link* widest_interface(const Topology& topology) {
  const Link* widest = nullptr;
  for (const Link& link : topology.links) {
    const Node& to = topology.nodes[link.to];
    const bool leads_out = to.kind == NodeKind::net_switch && to.parent < 0 && topology.nodes[link.from].kind == NodeKind::nic;
    if (leads_out && (widest == nullptr || link.bandwidth_bytes_per_s.value > widest->bandwidth_bytes_per_s.value)) widest = &link;
  }
  return widest;
}

/// Chunks that pass over links between hosts, and to how many ranks at most one sends them.
struct Traffic {
  double sent = 0, received = 0;
  std::size_t receivers = 0;

  double busier() const { return std::max(sent, received); }
};

Traffic traffic_of(const Program& program, std::uint32_t rank, const std::vector<std::uint32_t>& hosts) {
  Traffic traffic;
  std::set<std::uint32_t> receivers;
  const auto crosses = [&](const Operand& operand) { return operand.buffer == Buffer::link && hosts[operand.rank] != hosts[rank]; };
  for (const Lane& lane : program.lanes)
    for (const Step& step : lane.steps) {
      for (const Operand& operand : step.sources)
        if (crosses(operand)) traffic.received += operand.count;
      for (const Operand& operand : step.destinations) {
        if (!crosses(operand)) continue;
        traffic.sent += operand.count;
        receivers.insert(operand.rank);
      }
    }
  traffic.receivers = receivers.size();
  return traffic;
}

/// The ranks of a host that are looked at: its outermost ones, which rings leave it by, and as many of the others as there is time for.
Traffic traffic_of_host(const PlanHeader& header, Generator generator, const std::vector<std::uint32_t>& ranks, const std::vector<std::uint32_t>& hosts) {
  Traffic all;
  const auto add = [&](std::uint32_t rank, double weight) {
    const Traffic traffic = traffic_of(generator(header, rank), rank, hosts);
    all.sent += weight * traffic.sent;
    all.received += weight * traffic.received;
    all.receivers = std::max(all.receivers, traffic.receivers);
  };
  if (ranks.size() <= most_looked_at) {
    for (const std::uint32_t rank : ranks) add(rank, 1);
  } else {
    add(ranks.front(), 1);
    add(ranks.back(), 1);
    const std::size_t inner = ranks.size() - 2, looked_at = most_looked_at - 2;
    for (std::size_t k = 0; k < looked_at; ++k) add(ranks[1 + k * inner / looked_at], static_cast<double>(inner) / static_cast<double>(looked_at));
  }
  return all;
}

/// By their places along the plan's order.
std::vector<std::uint32_t> ranks_of(const PlanHeader& header, const std::vector<std::uint32_t>& hosts, std::uint32_t host) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t position = 0; position < header.ranks; ++position) {
    const std::uint32_t rank = header.order.empty() ? position : header.order[position];
    if (hosts[rank] == host) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

void find_network(const Topology& topology, std::uint32_t ranks, CostModel& cost) {
  if (topology.ranks.size() != ranks) return;
  std::vector<std::uint32_t> hosts;
  for (const RankPlace& place : topology.ranks) hosts.push_back(place.host);
  if (hosts.empty() || std::all_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) { return host == hosts.front(); })) return;
  const Link* interface = widest_interface(topology);
  const bool known = interface != nullptr && interface->bandwidth_bytes_per_s.value > 0;
  const Figure bandwidth = known ? interface->bandwidth_bytes_per_s : network_bandwidth();
  cost.network = {std::move(hosts), 1e9 / bandwidth.value};
  char text[96];
  std::snprintf(text, sizeof text, "network ns_per_byte %.4g of a host: ", cost.network.ns_per_byte);
  cost.sources.push_back(text + std::string(to_string(bandwidth.provenance)) + ", " + bandwidth.source);
}

Crossing crossing_of(const PlanHeader& header, Generator generator, const Request& request, const Network& network) {
  const auto& hosts = network.hosts;
  Crossing crossing;
  double chunks = 0;
  for (const std::uint32_t host : {hosts.front(), hosts.back()}) {
    const Traffic traffic = traffic_of_host(header, generator, ranks_of(header, hosts, host), hosts);
    chunks = std::max(chunks, traffic.busier());
    crossing.bursts |= traffic.receivers > 1;
  }
  crossing.bytes = chunks * static_cast<double>(chunk_bytes(request, header.chunks_per_block)) * scratch_share(request);
  return crossing;
}

}  // namespace rondo::planner
