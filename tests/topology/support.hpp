// What the topology tests share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "rondo/topology.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"

namespace topology_test {

inline std::size_t count(const rondo::Topology& topology, rondo::NodeKind kind) {
  std::size_t found = 0;
  for (const auto& node : topology.nodes) found += node.kind == kind ? 1 : 0;
  return found;
}

inline std::size_t count_links(const rondo::Topology& topology, const std::string& type) {
  std::size_t found = 0;
  for (const auto& link : topology.links) found += link.type == type ? 1 : 0;
  return found;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Text of a file of the corpora beside the source folder; empty where there are none.
inline std::string corpus(const std::string& name, const std::string& folder = "hwloc") {
  return read_file(std::string(RONDO_SOURCE_DIR) + "/../shared/corpora/" + folder + "/" + name);
}

/// What every topology must hold, wherever it comes from.
inline void check_form(const rondo::Topology& topology) {
  bool sound = true;
  for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
    const auto& node = topology.nodes[n];
    sound = sound && node.parent < static_cast<std::int32_t>(n) && node.host < topology.hosts.size();
    sound = sound && !node.name.empty();
    if (node.parent < 0) continue;
    const auto& outer = topology.nodes[static_cast<std::size_t>(node.parent)].cpus;
    for (const auto cpu : node.cpus) sound = sound && std::find(outer.begin(), outer.end(), cpu) != outer.end();
  }
  for (const auto& link : topology.links) {
    sound = sound && link.from < topology.nodes.size() && link.to < topology.nodes.size();
    sound = sound && link.bandwidth_bytes_per_s.value > 0 && link.latency_ns.value >= 0;
    sound = sound && !link.bandwidth_bytes_per_s.source.empty() && !link.latency_ns.source.empty();
  }
  CHECK(sound);
}

}  // namespace topology_test
