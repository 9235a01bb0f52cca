// What a crossing costs where nobody has measured it: defaults for each class, by name, and the links that carry them.
#pragma once

#include <string>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// What a source knows of one node's link to its parent; 0: nothing.
struct ReadFigures {
  double bandwidth_bytes_per_s = 0;
  std::string source;
};

/// Adds a link from every node to its parent. Along the links two processors' latencies add up to what crossing
/// their deepest common node costs. `read[n]` replaces the defaults of node n's link.
void add_containment_links(Topology& topology, const std::vector<ReadFigures>& read);

/// A default, with the words that say what it is.
Figure assumed(double value, std::string what);

/// Latency that a memory distance adds (`ratio` to the local one, as firmware states it) over the local crossing.
Figure distance_latency(double ratio);
Figure distance_bandwidth();

/// Latency of a link between accelerators, and between a network interface and the network.
Figure device_link_latency();
Figure network_latency();

/// The speed of a network interface that doesn't tell its own.
Figure network_bandwidth();

}  // namespace rondo
