// One topology of what all ranks see, each view of a machine sent once.
#include "communicator/views.hpp"

#include <thread>

#include "bootstrap/address_text.hpp"
#include "strangers.hpp"
#include "support/catch.hpp"

namespace {

using namespace rondo;

/// A bootstrap that notes how many bytes each rank gives.
class Counted final : public Bootstrap {
 public:
  Counted(Bootstrap& real, std::size_t& bytes) : real_(real), bytes_(bytes) {}
  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override {
    bytes_ = own.bytes.size();
    return real_.all_gather(own, deadline_ns);
  }

 private:
  Bootstrap& real_;
  std::size_t& bytes_;
};

Topology machine(const std::string& name, const std::string& description) {
  auto topology = read_synthetic(description);
  REQUIRE(topology);
  topology->hosts = {name};
  return *topology;
}

struct Seen {
  std::vector<std::string> topologies;  ///< by rank; an error's text
  std::vector<std::size_t> bytes;       ///< that each rank gave
};

/// What ranks come to that see these machines, each from the processor of its number on it.
Seen merge_all(const std::vector<Topology>& machines, const std::vector<RankInfo>& infos) {
  const auto ranks = static_cast<std::uint32_t>(machines.size());
  Seen seen{std::vector<std::string>(ranks), std::vector<std::size_t>(ranks)};
  auto ends = make_in_process_bootstrap(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Counted counted(*ends[rank], seen.bytes[rank]);
      const auto merged = merge_views(counted, view_of(machines[rank]), infos, rank, INT64_MAX);
      seen.topologies[rank] = merged ? write_topology_json(*merged) : to_string(merged.error());
    });
  for (std::thread& thread : threads) thread.join();
  return seen;
}

std::vector<RankInfo> infos_of(const std::vector<Topology>& machines) {
  std::vector<RankInfo> infos(machines.size());
  for (std::uint32_t rank = 0; rank < infos.size(); ++rank) {
    infos[rank].rank = rank;
    infos[rank].process = 100 + rank;
    infos[rank].cpus = {rank % 4};
    infos[rank].view = view_of(machines[rank]).name;
  }
  return infos;
}

}  // namespace

TEST_CASE("ranks of several machines come to one topology, and each machine is sent once") {
  const Topology a = machine("a", "package:1 core:4 pu:1"), b = machine("b", "numa:2 core:8 pu:1");
  const std::vector<Topology> machines{b, a, b, a, a};
  const auto infos = infos_of(machines);
  std::vector<Topology> views = machines;
  for (std::uint32_t rank = 0; rank < views.size(); ++rank) views[rank].ranks = {{0, infos[rank].process, infos[rank].cpus, -1}};
  const Seen seen = merge_all(machines, infos);
  for (const std::string& topology : seen.topologies) CHECK(topology == write_topology_json(merge(views)));
  CHECK(seen.bytes == std::vector<std::size_t>{view_of(b).text.size(), view_of(a).text.size(), 0, 0, 0});
}

TEST_CASE("a rank whose machine isn't the one that it announced is named") {
  const Topology a = machine("a", "core:4 pu:1"), b = machine("b", "core:8 pu:1");
  auto infos = infos_of({a, b});
  infos[1].view[0] = infos[1].view[0] == '0' ? '1' : '0';
  auto ends = make_in_process_bootstrap(2);
  std::thread liar([&] { (void)ends[1]->all_gather(address_of(view_of(b).text), INT64_MAX); });
  const auto merged = merge_views(*ends[0], view_of(a), infos, 0, INT64_MAX);
  liar.join();
  REQUIRE_FALSE(merged);
  CHECK(expect_words(to_string(merged.error()), {"invalid_argument", "what rank 1 sees", "isn't what it announced"}, Clock::now(), 1) == "");
}
