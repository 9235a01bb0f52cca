// Ways between devices: along any links, but never through a third accelerator.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// Ways on which a large message is there first. The topology has to outlive it, unchanged.
class DevicePaths {
 public:
  /// Takes time and memory in proportion to the links.
  explicit DevicePaths(const Topology& topology);

  /// Bandwidth 0: there is no way. Looks around both ends only as far as they are apart.
  PathCost between(std::uint32_t from, std::uint32_t to) const;

 private:
  const Topology& topology_;
  std::vector<std::uint32_t> first_;  // by node: where its links begin in links_, and the end
  std::vector<std::uint32_t> links_;
};

/// What crossing from rank to rank costs, for whoever asks often; as Topology::between().
class RankPaths {
 public:
  explicit RankPaths(const Topology& topology) : topology_(topology), devices_(topology) {}
  PathCost between(std::uint32_t rank_a, std::uint32_t rank_b) const;

 private:
  const Topology& topology_;
  DevicePaths devices_;
};

/// Whether a rank is a GPU, or another device.
bool is_device(const Topology& topology, const RankPlace& place);

}  // namespace rondo
