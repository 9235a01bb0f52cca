// Double trees of GPUs along their widest wires: where the ways between GPUs aren't all alike, the order is looked for in which the trees' edges lie on the
// widest. Hosts stay together.
#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "planner/algorithm.hpp"
#include "planner/double_tree.hpp"
#include "planner/gpu_ways.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t most_tried = 8;  ///< GPUs of one host of which all orders are tried: 40,320
constexpr std::uint32_t starts = 64;     ///< else: beginnings, from which pairs of a host are swapped as long as that is better

using Edge = std::pair<std::uint32_t, std::uint32_t>;

bool alike(const Pairs& widths) {
  for (std::uint32_t a = 0; a < widths.n; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      if (widths.at(a, b) != widths.at(1, 0)) return false;
  return true;
}

/// Of both trees, between positions along the order. The root of a rooted collective stands first.
std::vector<Edge> edges_of(const Request& request) {
  std::vector<Edge> edges;
  for (std::uint32_t tree = 0; tree < 2; ++tree)
    for (std::uint32_t position = 0; position < request.ranks; ++position) {
      const TreePlace place =
          is_rooted(request.collective) ? rooted_tree_place(request.ranks, tree, 0, position) : tree_place(request.ranks, tree, position);
      if (place.has_parent) edges.emplace_back(position, place.parent);
    }
  return edges;
}

/// What an order is worth: its narrowest way first, then the time that all its ways together take.
struct Worth {
  double width = 0;
  double time = no_way;
  bool operator>(const Worth& other) const { return width != other.width ? width > other.width : time < other.time * (1 - 1e-9); }
};

Worth worth_of(const Pairs& widths, const std::vector<Edge>& edges, const Ring& order) {
  Worth worth{no_way, 0};
  for (const auto& [a, b] : edges) {
    const double width = widths.at(order[a], order[b]);
    worth.width = std::min(worth.width, width);
    worth.time += 1 / width;
  }
  return worth;
}

/// Where the GPUs of each host stand: `ends[k]` is behind those of host k. The first `fixed` of all stay where they are.
struct Blocks {
  std::uint32_t fixed = 0;
  std::vector<std::uint32_t> ends;

  template <typename Do>
  void each(const Do& act) const {
    std::uint32_t begin = fixed;
    for (const std::uint32_t end : ends) {
      act(begin, end);
      begin = end;
    }
  }
};

/// The best swap of two of a host, as long as there is a better one.
Ring climb(const Pairs& widths, const std::vector<Edge>& edges, const Blocks& blocks, Ring order) {
  Worth worth = worth_of(widths, edges, order);
  for (bool better = true; better;) {
    better = false;
    Ring best = order;
    blocks.each([&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t a = begin; a < end; ++a)
        for (std::uint32_t b = begin; b < a; ++b) {
          std::swap(order[a], order[b]);
          if (const Worth other = worth_of(widths, edges, order); other > worth) {
            worth = other;
            best = order;
            better = true;
          }
          std::swap(order[a], order[b]);
        }
    });
    order = std::move(best);
  }
  return order;
}

Ring best_order(const Pairs& widths, const std::vector<Edge>& edges, const Blocks& blocks) {
  Ring order(widths.n);
  std::iota(order.begin(), order.end(), 0);
  Ring best = order;
  const auto consider = [&](const Ring& other) {
    if (worth_of(widths, edges, other) > worth_of(widths, edges, best)) best = other;
  };
  if (blocks.ends.size() == 1 && widths.n <= most_tried) {
    do consider(order);
    while (std::next_permutation(order.begin() + blocks.fixed, order.end()));
    return best;
  }
  std::mt19937 random(1);
  for (std::uint32_t work = 0; work < starts; work += static_cast<std::uint32_t>(blocks.ends.size())) {
    consider(climb(widths, edges, blocks, order));
    blocks.each([&](std::uint32_t begin, std::uint32_t end) { std::shuffle(order.begin() + begin, order.begin() + end, random); });
  }
  return best;
}

}  // namespace

std::vector<std::uint32_t> tree_order(const Topology& topology, const Request& request) {
  std::vector<Ring> hosts = gpus_by_host(topology, request.ranks);
  if (hosts.empty()) return rank_order(topology, request.ranks);
  Blocks blocks;
  if (is_rooted(request.collective)) {
    blocks.fixed = 1;
    const auto first = std::find_if(hosts.begin(), hosts.end(), [&](Ring& host) {
      const auto root = std::find(host.begin(), host.end(), request.root);
      if (root != host.end()) std::iter_swap(host.begin(), root);
      return host.front() == request.root;
    });
    std::rotate(hosts.begin(), first, hosts.end());
  }
  Ring ranks;
  for (const Ring& host : hosts) {
    ranks.insert(ranks.end(), host.begin(), host.end());
    blocks.ends.push_back(static_cast<std::uint32_t>(ranks.size()));
  }
  const Pairs widths = widths_between(topology, ranks);
  if (alike(widths)) return {};
  Ring order = best_order(widths, edges_of(request), blocks);
  for (std::uint32_t& at : order) at = ranks[at];
  return order;
}

}  // namespace rondo::planner
