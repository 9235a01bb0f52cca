#include "communicator/interfaces.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/text.hpp"
#include "bootstrap/own_address.hpp"

namespace rondo {
namespace {

std::uint32_t distance(const RankInterface& interface) {
  return interface.shared_cpus != 0 ? interface.shared_cpus : std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

std::uint32_t shared_cpus(const Topology& machine, const std::string& interface, const std::vector<std::uint32_t>& cpus) {
  const auto is_it = [&](const Node& node) { return node.kind == NodeKind::nic && node.name == interface; };
  const auto nic = std::find_if(machine.nodes.begin(), machine.nodes.end(), is_it);
  if (nic == machine.nodes.end() || cpus.empty()) return 0;
  for (std::int32_t part = nic->parent; part >= 0; part = machine.nodes[static_cast<std::size_t>(part)].parent) {
    const std::vector<std::uint32_t>& there = machine.nodes[static_cast<std::size_t>(part)].cpus;
    if (std::includes(there.begin(), there.end(), cpus.begin(), cpus.end())) return static_cast<std::uint32_t>(there.size());
  }
  return 0;
}

Result<std::vector<RankInterface>> own_interfaces(const Topology& machine, const std::vector<std::uint32_t>& cpus,
                                                  const std::function<std::string()>& otherwise) {
  const auto chosen = chosen_interfaces(otherwise);
  if (!chosen) return chosen.error();
  std::vector<RankInterface> own;
  for (const NamedAddress& each : *chosen) own.push_back({each.address, shared_cpus(machine, each.interface, cpus)});
  return own;
}

Interfaces deal_interfaces(const std::vector<RankInfo>& ranks) {
  std::size_t count = ranks.front().interfaces.size();
  std::map<std::string, std::size_t> of_host;
  for (const RankInfo& rank : ranks) {
    count = std::min(count, rank.interfaces.size());
    ++of_host[rank.host];
  }
  Interfaces dealt{static_cast<std::uint32_t>(count), {}};
  std::map<std::string, std::vector<std::size_t>> taken;
  for (const RankInfo& rank : ranks) {
    std::vector<std::size_t>& so_far = taken[rank.host];
    so_far.resize(count);
    const std::size_t most = (of_host[rank.host] + count - 1) / count;
    std::size_t best = count;
    for (std::size_t k = 0; k < count; ++k) {
      if (so_far[k] == most) continue;
      const auto worth = [&](std::size_t which) { return std::pair(distance(rank.interfaces[which]), so_far[which]); };
      if (best == count || worth(k) < worth(best)) best = k;
    }
    ++so_far[best];
    dealt.own.push_back(static_cast<std::uint32_t>(best));
  }
  return dealt;
}

std::vector<std::string> addresses_for_others(const std::vector<RankInfo>& ranks, std::uint32_t rank, const Interfaces& interfaces) {
  std::vector<std::string> own;
  for (std::size_t k = 0; k < interfaces.count; ++k) own.push_back(ranks[rank].interfaces[k].address);
  if (own.size() > 1 || !is_loopback(own.front())) return own;
  for (const RankInfo& peer : ranks)
    if (const std::string& theirs = peer.interfaces.front().address; !is_loopback(theirs))
      if (std::string way = address_towards(theirs); !way.empty()) return {way};
  return own;
}

}  // namespace rondo
