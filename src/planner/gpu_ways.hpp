// How wide the ways between GPUs are, for what follows the widest of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo::planner {

inline constexpr std::uint32_t most_searched_gpus = 16;  ///< of one host, whose ways round are looked at: 2^16 sets of them
inline constexpr double no_way = std::numeric_limits<double>::infinity();

using Ring = std::vector<std::uint32_t>;

/// Figures between any two of n, both ways the same.
struct Pairs {
  std::uint32_t n = 0;
  std::vector<double> figures;
  explicit Pairs(std::uint32_t size, double figure = 0) : n(size), figures(std::size_t{size} * size, figure) {}
  double& at(std::uint32_t a, std::uint32_t b) { return figures[std::size_t{a} * n + b]; }
  double at(std::uint32_t a, std::uint32_t b) const { return figures[std::size_t{a} * n + b]; }
  void set(std::uint32_t a, std::uint32_t b, double figure) { at(a, b) = at(b, a) = figure; }
};

/// Bytes per second between any two of these ranks.
Pairs widths_between(const Topology& topology, const Ring& ranks);

/// GPUs by host, hosts in their order; empty where ranks aren't GPUs of their own, or too many for a search.
std::vector<Ring> gpus_by_host(const Topology& topology, std::uint32_t ranks);

}  // namespace rondo::planner
