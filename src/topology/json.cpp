#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/json_text.hpp"
#include "rondo/topology.hpp"

namespace rondo {
namespace {

using nlohmann::json;
using Ordered = nlohmann::ordered_json;  // keys in the order in which people read them

Ordered figure_to_json(const Figure& figure) {
  return {
      {"value", figure.value}, {"provenance", std::string(to_string(figure.provenance))}, {"source", figure.source}};
}

Ordered node_to_json(const Node& node) {
  Ordered written{{"kind", std::string(to_string(node.kind))},
                  {"name", node.name},
                  {"parent", node.parent},
                  {"host", node.host},
                  {"bytes", node.bytes},
                  {"cpus", node.cpus},
                  {"detail", node.detail}};
  if (!node.address.empty()) written["address"] = node.address;
  return written;
}

Ordered link_to_json(const Link& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"type", link.type},
          {"bandwidth_bytes_per_s", figure_to_json(link.bandwidth_bytes_per_s)},
          {"latency_ns", figure_to_json(link.latency_ns)}};
}

Ordered rank_to_json(const RankPlace& rank) {
  return {{"host", rank.host}, {"process", rank.process}, {"cpus", rank.cpus}, {"node", rank.node}};
}

// Thrown while reading and caught in read_topology_json; never leaves this file.
[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what);
}

// The value whose name is `name`, of an enumeration of `count` values.
template <class T>
T parse_name(const json& text, int count, const char* what) {
  const auto name = text.get<std::string>();
  std::string accepted;
  for (int value = 0; value < count; ++value) {
    const std::string_view known = to_string(static_cast<T>(value));
    if (known == name) return static_cast<T>(value);
    accepted += (accepted.empty() ? "" : ", ") + std::string(known);
  }
  refuse(std::string("unknown ") + std::string(what) + " '" + name + "'; accepted: " + accepted);
}

Figure figure_from_json(const json& text) {
  Figure figure{text.at("value").get<double>(), parse_name<Provenance>(text.at("provenance"), 3, "provenance"),
                text.at("source").get<std::string>()};
  if (!std::isfinite(figure.value) || figure.value < 0) refuse("a figure must be a number from 0 up");
  return figure;
}

// A whole number below `limit`, so that indices can be trusted afterwards.
std::uint32_t index_from_json(const json& text, std::size_t limit, const char* what) {
  if (!text.is_number_unsigned() || text.get<std::uint64_t>() >= limit)
    refuse(std::string(what) + " " + text.dump() + " is no whole number below " + std::to_string(limit));
  return text.get<std::uint32_t>();
}

std::int32_t parent_from_json(const json& text, std::size_t limit, const char* what) {
  if (text.is_number_integer() && text.get<std::int64_t>() == -1) return -1;
  return static_cast<std::int32_t>(index_from_json(text, limit, what));
}

std::vector<std::uint32_t> cpus_from_json(const json& text) {
  std::vector<std::uint32_t> cpus;
  for (const json& cpu : text) {
    cpus.push_back(index_from_json(cpu, UINT32_MAX, "processor"));
    if (cpus.size() > 1 && cpus[cpus.size() - 2] >= cpus.back()) refuse("processors must ascend");
  }
  return cpus;
}

Node node_from_json(const json& text, std::size_t index, std::size_t hosts) {
  Node node;
  node.kind = parse_name<NodeKind>(text.at("kind"), static_cast<int>(NodeKind::other) + 1, "kind");
  node.name = text.at("name").get<std::string>();
  node.parent = parent_from_json(text.at("parent"), index, "parent");
  node.host = index_from_json(text.at("host"), hosts, "host");
  node.bytes = whole_number<std::uint64_t>(text.at("bytes"));
  node.cpus = cpus_from_json(text.at("cpus"));
  if (node.kind == NodeKind::cpu && node.cpus.size() != 1) refuse("a cpu must have exactly one processor number");
  node.detail = text.at("detail").get<std::string>();
  if (text.contains("address")) node.address = text.at("address").get<std::string>();
  return node;
}

Link link_from_json(const json& text, std::size_t nodes) {
  return {index_from_json(text.at("from"), nodes, "link end"), index_from_json(text.at("to"), nodes, "link end"),
          text.at("type").get<std::string>(), figure_from_json(text.at("bandwidth_bytes_per_s")),
          figure_from_json(text.at("latency_ns"))};
}

RankPlace rank_from_json(const json& text, std::size_t hosts, std::size_t nodes) {
  return {index_from_json(text.at("host"), hosts, "host"), whole_number<std::int64_t>(text.at("process")),
          cpus_from_json(text.at("cpus")), parent_from_json(text.at("node"), nodes, "node")};
}

// Calls `read` for each element of the list `key` and says which one it was when that fails.
template <class Read>
void each(const json& document, const char* key, Read read) {
  const json& list = document.at(key);
  if (!list.is_array()) refuse(std::string(key) + " is no list");
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      read(list[i]);
    } catch (const std::exception& wrong) {
      refuse(std::string(key) + "[" + std::to_string(i) + "]: " + wrong.what());
    }
  }
}

Topology topology_from_json(const json& document) {
  Topology topology;
  if (!document.is_object() || !document.contains("rondo_topology")) refuse("the key rondo_topology is missing");
  if (document.at("rondo_topology") != 1)
    refuse(std::string("version ") + document.at("rondo_topology").dump() + " is unknown; this reads 1");
  each(document, "hosts", [&](const json& host) { topology.hosts.push_back(host.get<std::string>()); });
  topology.cpu_quota = document.at("cpu_quota").get<double>();
  if (!std::isfinite(topology.cpu_quota) || topology.cpu_quota < 0) refuse("cpu_quota must be a number from 0 up");
  each(document, "nodes", [&](const json& node) {
    topology.nodes.push_back(node_from_json(node, topology.nodes.size(), topology.hosts.size()));
  });
  each(document, "links",
       [&](const json& link) { topology.links.push_back(link_from_json(link, topology.nodes.size())); });
  each(document, "ranks", [&](const json& rank) {
    topology.ranks.push_back(rank_from_json(rank, topology.hosts.size(), topology.nodes.size()));
  });
  return topology;
}

template <class List, class Write>
Ordered list_to_json(const List& list, Write write) {
  Ordered result = Ordered::array();
  for (const auto& element : list) result.push_back(write(element));
  return result;
}

// One line an element: readable, and a change shows where it is.
std::string print_list(const char* key, const Ordered& list) {
  std::string text = std::string("  \"") + std::string(key) + "\": [";
  for (std::size_t i = 0; i < list.size(); ++i)
    text += (i == 0 ? "\n    " : ",\n    ") + list[i].dump(-1, ' ', false, Ordered::error_handler_t::replace);
  return text + (list.empty() ? "]" : "\n  ]");
}

}  // namespace

std::string write_topology_json(const Topology& topology) {
  std::string text = "{\n  \"rondo_topology\": 1,\n";
  text += print_list("hosts", Ordered(topology.hosts)) + ",\n";
  text += "  \"cpu_quota\": " + Ordered(topology.cpu_quota).dump() + ",\n";
  text += print_list("nodes", list_to_json(topology.nodes, node_to_json)) + ",\n";
  text += print_list("links", list_to_json(topology.links, link_to_json)) + ",\n";
  text += print_list("ranks", list_to_json(topology.ranks, rank_to_json)) + "\n}\n";
  return text;
}

Result<Topology> read_topology_json(std::string_view text) {
  try {
    return topology_from_json(json::parse(text));
  } catch (const std::exception& wrong) {
    std::string what = wrong.what();
    what = what.substr(0, what.find('\n')).substr(0, 300);
    return Error{Errc::invalid_argument,
                 std::string("not a topology in JSON: ") + what + "; expected what 'rondo topo --format json' writes"};
  }
}

}  // namespace rondo
