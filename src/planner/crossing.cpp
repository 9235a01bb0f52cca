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
  explicit Traffic(std::uint32_t interfaces) : sent(interfaces), received(interfaces) {}
  std::vector<double> sent, received;  ///< by interface
  std::size_t receivers = 0;

  double busiest() const { return std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end())); }
};

/// Adds what a rank sends and receives, `weight` times.
void add(const Program& program, std::uint32_t rank, const Network& network, double weight, Traffic& traffic) {
  std::set<std::uint32_t> receivers;
  const auto crosses = [&](const Operand& operand) { return operand.buffer == Buffer::link && network.hosts[operand.rank] != network.hosts[rank]; };
  const auto pass = [&](const Operand& operand, std::vector<double>& ways) {
    ways[network.interfaces.between(rank, operand.rank, operand.index)] += weight * operand.count;
  };
  for (const Lane& lane : program.lanes)
    for (const Step& step : lane.steps) {
      for (const Operand& operand : step.sources)
        if (crosses(operand)) pass(operand, traffic.received);
      for (const Operand& operand : step.destinations) {
        if (!crosses(operand)) continue;
        pass(operand, traffic.sent);
        receivers.insert(operand.rank);
      }
    }
  traffic.receivers = std::max(traffic.receivers, receivers.size());
}

/// The ranks of a host that are looked at: its outermost ones, which rings leave it by, and as many of the others as there is time for.
Traffic traffic_of_host(const PlanHeader& header, Generator generator, const std::vector<std::uint32_t>& ranks, const Network& network) {
  Traffic all(network.interfaces.count);
  const auto look_at = [&](std::uint32_t rank, double weight) { add(generator(header, rank), rank, network, weight, all); };
  if (ranks.size() <= most_looked_at) {
    for (const std::uint32_t rank : ranks) look_at(rank, 1);
  } else {
    look_at(ranks.front(), 1);
    look_at(ranks.back(), 1);
    const std::size_t inner = ranks.size() - 2, looked_at = most_looked_at - 2;
    for (std::size_t k = 0; k < looked_at; ++k) look_at(ranks[1 + k * inner / looked_at], static_cast<double>(inner) / static_cast<double>(looked_at));
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
  std::snprintf(text, sizeof text, "network ns_per_byte %.4g of an interface: ", cost.network.ns_per_byte);
  cost.sources.push_back(text + std::string(to_string(bandwidth.provenance)) + ", " + bandwidth.source);
}

Crossing crossing_of(const PlanHeader& header, Generator generator, const Request& request, const Network& network) {
  const auto& hosts = network.hosts;
  Crossing crossing;
  double chunks = 0;
  for (const std::uint32_t host : {hosts.front(), hosts.back()}) {
    const Traffic traffic = traffic_of_host(header, generator, ranks_of(header, hosts, host), network);
    chunks = std::max(chunks, traffic.busiest());
    crossing.bursts |= traffic.receivers > 1;
  }
  crossing.bytes = chunks * static_cast<double>(chunk_bytes(request, header.chunks_per_block)) * scratch_share(request);
  return crossing;
}

}  // namespace rondo::planner
