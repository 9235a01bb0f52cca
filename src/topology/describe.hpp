// How figures, names and sets of numbers are put to people; the text and the picture agree on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// "30 GB/s", "1.25 GB/s".
std::string print_rate(double bytes_per_s);

/// "10 Gb/s": how networks are sold.
std::string print_bit_rate(double bytes_per_s);

/// "100 ns", "5 us".
std::string print_time(double nanoseconds);

/// Ascending numbers with runs drawn together: "0-3, 8".
std::string print_ranges(const std::vector<std::uint32_t>& numbers);

/// "1 core", "4 cores".
std::string print_count(std::size_t count, const std::string& what);

/// Text from a file without what would move a terminal's cursor.
std::string printable(std::string text);

/// What kind of device a node is, in words; empty for everything else.
std::string device_words(const Node& node);

/// For each node, the nodes whose parent it is, in their order.
std::vector<std::vector<std::uint32_t>> children_of(const Topology& topology);

/// What crossing between processors costs at one level of a machine, e.g. "one L3".
struct Crossing {
  std::string where;
  PathCost cost;
};

/// The levels of host `host` at which processors part, nearest first.
std::vector<Crossing> crossings(const Topology& topology, std::uint32_t host);

/// Links that lead elsewhere than to a parent, equal ones drawn together.
struct LinkGroup {
  std::string words;  ///< "96 x nvlink, gpu - nvswitch"
  std::size_t count = 0;
  Link link;  ///< the first of them
};
std::vector<LinkGroup> cross_links(const Topology& topology);

}  // namespace rondo
