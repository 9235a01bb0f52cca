#include "topology/describe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

namespace rondo {
namespace {

// A number with as many digits as say something: 31.5, 4, 1.25.
std::string short_number(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  if (value >= 1000) std::snprintf(text.data(), text.size(), "%.0f", value);
  return text.data();
}

std::string scaled(double value, const std::vector<const char*>& units) {
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return short_number(value) + " " + units[unit];
}

std::string level_words(const Node& node) {
  switch (node.kind) {
    case NodeKind::core:
      return "one core";
    case NodeKind::cache:
      return "one " + node.name.substr(0, node.name.find('#'));
    case NodeKind::numa:
      return "one NUMA node";
    case NodeKind::package:
      return "one package";
    case NodeKind::machine:
      return "one machine";
    default:
      return "one " + node.name.substr(0, node.name.find('#'));
  }
}

// The sort of a node for a table.
std::string end_words(const Node& node) {
  return node.kind == NodeKind::nic ? "network interface" : node.name.substr(0, node.name.find('#'));
}

// A group's line in a table, from the words for its ends. The type is often the name of an end already.
std::string link_words(const LinkGroup& group) {
  std::string words;
  if (group.count > 1) words.append(std::to_string(group.count)).append(" x ");
  if (group.words.find(group.link.type) == std::string::npos) words.append(group.link.type).append(", ");
  return words.append(group.words);
}

}  // namespace

std::string print_rate(double bytes_per_s) {
  return scaled(bytes_per_s, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
}

std::string print_bit_rate(double bytes_per_s) {
  return scaled(bytes_per_s * 8, {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"});
}

std::string print_time(double nanoseconds) {
  return scaled(nanoseconds, {"ns", "us", "ms"});
}

std::string print_ranges(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[begin]);
    if (end - begin > 1) text.append(end - begin > 2 ? "-" : ", ").append(std::to_string(numbers[end - 1]));
    begin = end;
  }
  return text;
}

std::string print_count(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string printable(std::string text) {
  for (char& letter : text)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = ' ';
  return text;
}

std::string device_words(const Node& node) {
  switch (node.kind) {
    case NodeKind::gpu:
      return "GPU";
    case NodeKind::nic:
      return "network interface";
    case NodeKind::net_switch:
      return "switch";
    default:
      return {};
  }
}

std::vector<std::vector<std::uint32_t>> children_of(const Topology& topology) {
  std::vector<std::vector<std::uint32_t>> children(topology.nodes.size());
  for (std::uint32_t n = 0; n < topology.nodes.size(); ++n)
    if (topology.nodes[n].parent >= 0) children[topology.nodes[n].parent].push_back(n);
  return children;
}

std::vector<Crossing> crossings(const Topology& topology, std::uint32_t host) {
  Topology pair = topology;
  const auto children = children_of(topology);
  std::map<std::string, PathCost> seen;
  for (std::uint32_t n = 0; n < topology.nodes.size(); ++n) {
    const Node& node = topology.nodes[n];
    std::vector<std::uint32_t> parts;
    for (const std::uint32_t child : children[n])
      if (!topology.nodes[child].cpus.empty()) parts.push_back(child);
    if (node.host != host || parts.size() < 2 || seen.contains(level_words(node))) continue;
    const auto place = [&](std::uint32_t part) {
      return RankPlace{host, 0, {topology.nodes[part].cpus.front()}, static_cast<std::int32_t>(part)};
    };
    pair.ranks = {place(parts.front()), place(parts.back())};
    seen.emplace(level_words(node), pair.between(0, 1));
  }
  std::vector<Crossing> result;
  for (auto& [where, cost] : seen) result.push_back({where, cost});
  std::stable_sort(result.begin(), result.end(),
                   [](const Crossing& a, const Crossing& b) { return a.cost.latency_ns < b.cost.latency_ns; });
  return result;
}

std::vector<LinkGroup> cross_links(const Topology& topology) {
  std::vector<LinkGroup> groups;
  for (const Link& link : topology.links) {
    if (topology.nodes[link.from].parent == static_cast<std::int32_t>(link.to)) continue;
    const std::string ends = end_words(topology.nodes[link.from]) + " - " + end_words(topology.nodes[link.to]);
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const LinkGroup& group) {
      return group.words == ends && group.link.type == link.type &&
             group.link.bandwidth_bytes_per_s.value == link.bandwidth_bytes_per_s.value &&
             group.link.latency_ns.value == link.latency_ns.value;
    });
    if (same != groups.end())
      ++same->count;
    else
      groups.push_back({ends, 1, link});
  }
  for (LinkGroup& group : groups) group.words = link_words(group);
  return groups;
}

}  // namespace rondo
