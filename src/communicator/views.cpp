#include "communicator/views.hpp"

#include <map>
#include <utility>

#include "base/text.hpp"
#include "bootstrap/address_text.hpp"

namespace rondo {
namespace {

/// By name: the ranks that have this view.
std::map<std::string, std::vector<std::uint32_t>> ranks_by_view(const std::vector<RankInfo>& infos) {
  std::map<std::string, std::vector<std::uint32_t>> ranks;
  for (std::uint32_t rank = 0; rank < infos.size(); ++rank) ranks[infos[rank].view].push_back(rank);
  return ranks;
}

/// A view with the ranks that have it.
Result<Topology> read_view(const Address& told, const std::vector<std::uint32_t>& ranks, const std::vector<RankInfo>& infos) {
  const std::string text = text_of(told);
  auto topology = read_topology_json(text);
  if (topology && hash_of(text) == infos[ranks.front()].view && topology->ranks.empty() && !topology->hosts.empty()) {
    for (const std::uint32_t rank : ranks) topology->ranks.push_back({0, infos[rank].process, infos[rank].cpus, -1});
    return topology;
  }
  const std::string why = topology ? "isn't what it announced" : topology.error().detail;
  return Error{Errc::invalid_argument, "what rank " + std::to_string(ranks.front()) + " sees of its machine makes no sense: " + why, 0, "bootstrap"};
}

}  // namespace

View view_of(Topology topology) {
  topology.ranks.clear();
  View view{write_topology_json(topology), {}};
  view.name = hash_of(view.text);
  return view;
}

Result<Topology> merge_views(Bootstrap& bootstrap, const View& own, const std::vector<RankInfo>& infos, std::uint32_t rank, std::int64_t deadline_ns) {
  const auto ranks = ranks_by_view(infos);
  const bool gives = ranks.at(own.name).front() == rank;
  auto all = bootstrap.all_gather(gives ? address_of(own.text) : Address{}, deadline_ns);
  if (!all) return all.error();
  std::vector<Topology> graphs;
  std::vector<std::uint32_t> order;  // of the ranks as they come
  for (std::uint32_t first = 0; first < infos.size(); ++first) {
    const auto& members = ranks.at(infos[first].view);
    if (members.front() != first) continue;
    auto view = read_view((*all)[first], members, infos);
    if (!view) return view.error();
    graphs.push_back(std::move(*view));
    order.insert(order.end(), members.begin(), members.end());
  }
  Topology merged = merge(graphs);
  std::vector<RankPlace> places(infos.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = std::move(merged.ranks[i]);
  merged.ranks = std::move(places);
  return merged;
}

}  // namespace rondo
