// Machines with caches, memories and sockets: which groups are seen, which plans follow them, and what crosses between groups.
#include <algorithm>
#include <numeric>

#include "requests.hpp"
#include "rondo/topology.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr const char* epyc = "package:2 numa:4 l3:3 core:8 pu:1";  // 192 cores, 8 memories
constexpr const char* xeon = "package:2 core:24 pu:1";

Topology machine(const std::string& description, std::uint32_t ranks) {
  const auto topology = read_synthetic(description);
  REQUIRE(topology);
  return with_ranks(*topology, ranks);
}

using Named = std::pair<std::string, std::uint32_t>;

std::vector<Named> groups_of(const Topology& topology) {
  std::vector<Named> found;
  for (const Level& level : cost_model(topology, static_cast<std::uint32_t>(topology.ranks.size())).levels) found.emplace_back(level.name, level.ranks);
  return found;
}

Result<Plan> planned(const Topology& topology, Collective collective, std::uint64_t bytes, const std::string& algorithm = "") {
  const auto ranks = static_cast<std::uint32_t>(topology.ranks.size());
  const BlockCounts blocks = block_counts(collective, ranks);
  const Request request = request_of(collective, ranks, bytes / std::max(blocks.input, blocks.output), is_rooted(collective) ? ranks / 2 : 0);
  const CostModel cost = cost_model(topology, ranks);
  if (algorithm.empty()) return make_plan(topology, cost, limits_of_shared_memory(), request);
  return make_plan(topology, cost, limits_of_shared_memory(), request, algorithm);
}

/// Bytes of one piece that ranks read from scratch of others who aren't in their group of `size`, groups being runs of places.
std::uint64_t crossing(const Plan& plan, std::uint64_t block_bytes, std::uint32_t size) {
  const PlanHeader& header = plan.header;
  std::vector<std::uint32_t> group(header.ranks);
  for (std::uint32_t position = 0; position < header.ranks; ++position) group[header.order.empty() ? position : header.order[position]] = position / size;
  std::uint64_t bytes = 0;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps)
        for (const Operand& source : step.sources)
          if (source.rank != self && group[source.rank] != group[rank]) bytes += source.count * (block_bytes / header.chunks_per_block);
  return bytes;
}

/// A scan goes by numbers, so that ranks have to lie by their numbers.
bool serves(const Topology& topology, Collective collective) {
  const std::vector<Level> levels = cost_model(topology, static_cast<std::uint32_t>(topology.ranks.size())).levels;
  return collective != Collective::scan || std::any_of(levels.begin(), levels.end(), [](const Level& level) { return level.by_number; });
}

constexpr Collective grouped[] = {Collective::all_reduce,     Collective::reduce,     Collective::broadcast, Collective::reduce_scatter,
                                  Collective::all_gather,     Collective::gather,     Collective::scatter,   Collective::scan,
                                  Collective::barrier};

void check_proved(const Plan& plan) {
  for (const Plan& form : {plan, lower(plan)}) {
    const auto fine = check_form(form);
    if (!fine) FAIL_CHECK(to_string(fine.error()));
    const Proof proof = verify(form);
    for (const Violation& violation : proof.violations) FAIL_CHECK(to_string(violation));
  }
}

}  // namespace

TEST_CASE("groups are those who share a cache, a memory or a socket") {
  const auto sees = [](const std::string& description, std::uint32_t ranks, const std::vector<Named>& groups) {
    INFO(description << ", " << ranks << " ranks");
    CHECK(groups_of(machine(description, ranks)) == groups);
  };
  sees(epyc, 192, {{"L3", 8}, {"numa", 24}, {"package", 96}});
  sees(epyc, 96, {{"L3", 8}, {"numa", 24}});  // one socket
  sees(epyc, 24, {{"L3", 8}});
  sees(epyc, 8, {});
  sees(epyc, 2, {});
  sees(xeon, 48, {{"package", 24}});
  sees("numa:8 core:4 pu:1", 32, {{"numa", 4}});
  sees("package:2 l2:4 core:2 pu:1", 16, {{"L2", 2}, {"package", 8}});
  sees("package:2 numa:1 l3:1 core:4 pu:1", 8, {{"L3", 4}});  // one group by three names
  sees("core:2 pu:2", 4, {{"core", 2}});
  sees("l3:1 core:8 pu:1", 8, {});
  sees("package:2 core:2 pu:1", 8, {{"package", 4}});  // two ranks a processor, which are no group
  sees("core:2 pu:1", 8, {});
}

TEST_CASE("groups of unequal size aren't groups, and the plan says so") {
  const Topology topology = machine("numa:2 core:4 pu:1", 6);
  CHECK(groups_of(topology).empty());
  const auto refused = planned(topology, Collective::all_reduce, 1 << 16, "hierarchical");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().detail == "hierarchical can't serve this all_reduce: no cache, memory or socket parts the ranks into equal groups");
  CHECK(groups_of(machine(epyc, 191)).empty());
}

TEST_CASE("ranks that may run anywhere have no groups") {
  Topology topology = machine(xeon, 48);
  for (RankPlace& place : topology.ranks) {
    place.cpus = topology.nodes[0].cpus;
    place.node = 0;
  }
  CHECK(groups_of(topology).empty());
}

TEST_CASE("a graph that isn't numbered part by part has no groups of ranks that follow one another") {
  Topology topology;
  topology.nodes = {{NodeKind::machine, "machine", -1, 0, 0, {0, 1, 2, 3, 4, 5, 6, 7}, ""},
                    {NodeKind::package, "package#0", 0, 0, 0, {0, 1, 4, 5}, ""},
                    {NodeKind::package, "package#1", 0, 0, 0, {2, 3, 6, 7}, ""}};
  for (std::uint32_t cpu = 0; cpu < 8; ++cpu) {
    topology.nodes.push_back({NodeKind::cpu, "cpu#" + std::to_string(cpu), cpu / 2 % 2 == 0 ? 1 : 2, 0, 0, {cpu}, ""});
    topology.ranks.push_back({0, cpu, {cpu}, static_cast<std::int32_t>(cpu) + 3});
  }
  CHECK(groups_of(topology).empty());
}

TEST_CASE("a level's figures are its farthest pair's and its link's, with their provenance, and nearer levels are nearer") {
  const CostModel cost = cost_model(machine(epyc, 192), 192);
  REQUIRE(cost.levels.size() == 3);
  double nearer = 0;
  for (const Level& level : cost.levels) {
    CHECK(level.latency_ns > nearer);
    CHECK(level.latency_ns < cost.latency_ns);
    CHECK(level.pull_ns_per_byte > 0);
    CHECK(level.crossing_ns_per_byte > 0);
    nearer = level.latency_ns;
  }
  CHECK(cost.levels[0].latency_ns == 100);
  CHECK(cost.levels[1].latency_ns == 150);
  CHECK(cost.levels[2].latency_ns == 200);
  CHECK(std::count_if(cost.sources.begin(), cost.sources.end(), [](const std::string& source) {
          return source.starts_with("level of ") && source.find("assumed, the farthest pair below one ") != std::string::npos;
        }) == 3);
}

TEST_CASE("a probed latency is the farthest pair's, and no group is taken to be farther apart") {
  const Topology topology = machine(epyc, 192);
  CostModel cost = cost_model(topology, 192);
  const std::vector<double> before{cost.levels[0].latency_ns, cost.levels[1].latency_ns, cost.levels[2].latency_ns};
  const Request request = request_of(Collective::all_reduce, 192, 8);
  const auto price = [&] { return make_plan(topology, cost, limits_of_shared_memory(), request, "hierarchical")->predicted_ns; };
  const double unprobed = price();
  set_latency(cost, 1000, "probed");
  CHECK(price() > unprobed);
  set_latency(cost, 50, "probed");
  const double near = price();
  CHECK(near < unprobed / 1.5);
  CostModel as_near = cost;
  for (Level& level : as_near.levels) level.latency_ns = 50;
  CHECK(near == make_plan(topology, as_near, limits_of_shared_memory(), request, "hierarchical")->predicted_ns);
  CHECK(before == std::vector<double>{cost.levels[0].latency_ns, cost.levels[1].latency_ns, cost.levels[2].latency_ns});
}

TEST_CASE("on 192 cores with 8 memories the plan follows their groups") {
  const Topology topology = machine(epyc, 192);
  for (const Collective collective : grouped)
    for (const std::uint64_t bytes : {std::uint64_t{4} << 10, std::uint64_t{1} << 14}) {
      INFO(to_string(collective) << ", " << bytes << " bytes");
      const auto plan = planned(topology, collective, collective == Collective::gather || collective == Collective::scatter ? 16 * bytes : bytes);
      REQUIRE(plan);
      CHECK(plan->header.algorithm == "hierarchical");
      REQUIRE(!plan->header.groups.empty());
      for (const std::uint32_t size : plan->header.groups) CHECK((size == 8 || size == 24 || size == 96));
    }
  CHECK(planned(machine(xeon, 48), Collective::all_reduce, 64 << 10)->header.algorithm == "hierarchical");
  CHECK(planned(machine(xeon, 48), Collective::all_reduce, 1 << 20)->header.algorithm == "hierarchical");
}

TEST_CASE("few ranks, and ranks that share one cache, get flat plans") {
  for (const auto& [description, ranks] : {std::pair{"l3:1 core:8 pu:1", 8u}, {"l3:2 core:2 pu:1", 4u}, {"core:2 pu:1", 8u}})
    for (const Collective collective : grouped)
      for (std::uint64_t bytes = 8; bytes <= 64 << 20; bytes *= 8) {
        INFO(description << ", " << to_string(collective) << ", " << bytes << " bytes");
        CHECK(planned(machine(description, ranks), collective, bytes)->header.algorithm != "hierarchical");
      }
}

TEST_CASE("what crosses between memories crosses once, and far less than without groups") {
  const Topology topology = machine(epyc, 192);
  constexpr std::uint64_t message = 192 * 64 * 8;  // whole units for all chunks
  struct Case {
    Collective collective;
    const char* flat;
    std::uint64_t least;
  };
  const Case cases[] = {{Collective::all_reduce, "two_shot", 2 * 7 * message},      // each group takes in 7/8 of the partial results, then of the results
                        {Collective::reduce, "two_shot", 7 * message + message / 2 + message * 3 / 4},  // to the root's socket, then to its memory
                        {Collective::broadcast, "one_shot", 7 * message},           // each group takes in the message
                        {Collective::reduce_scatter, "one_shot", 7 * message},
                        {Collective::all_gather, "one_shot", 7 * message},
                        // each rank takes in a sum of each memory before its own in its socket, and of the other socket
                        {Collective::scan, "one_shot", 2 * (0 + 1 + 2 + 3) * 24 * message + 4 * 24 * message}};
  for (const Case& at : cases) {
    const bool by_blocks = at.collective == Collective::reduce_scatter || at.collective == Collective::all_gather;
    const std::uint64_t block = by_blocks ? message / 192 : message;
    const auto plan = planned(topology, at.collective, message, "hierarchical");
    const auto flat = planned(topology, at.collective, message, at.flat);
    REQUIRE(plan);
    REQUIRE(flat);
    INFO(to_string(at.collective) << ", groups " << plan->header.groups.size() << ", flat " << crossing(*flat, block, 24));
    CHECK(crossing(*plan, block, 24) == at.least);
    // Of a rooted reduction it is the half that all ranks do; its root fetches the other once in any case.
    CHECK(crossing(*flat, block, 24) >= (at.collective == Collective::reduce ? 12 : 24) * at.least);
    CHECK(crossing(*plan, block, 96) < crossing(*flat, block, 96) / 20);
  }
}

TEST_CASE("plans that follow groups are proved on every machine, for many numbers of ranks") {
  struct Made {
    const char* description;
    std::vector<std::uint32_t> ranks;
  };
  const Made machines[] = {{epyc, {24, 48, 96, 192}},
                           {xeon, {48, 96}},
                           {"package:2 numa:2 l3:2 core:3 pu:1", {6, 12, 24, 48}},
                           {"numa:8 core:4 pu:2", {8, 16, 32, 64, 128}},
                           {"package:4 l3:5 core:2 pu:1", {20, 40}},
                           {"package:3 numa:3 l3:2 l2:2 core:1 pu:1", {4, 12, 36}}};
  int plans = 0;
  std::vector<std::size_t> depths;
  for (const Made& made : machines)
    for (const std::uint32_t ranks : made.ranks)
      for (const Collective collective : grouped)
        for (const std::uint64_t bytes : {std::uint64_t{64}, std::uint64_t{32} << 20}) {
          INFO(made.description << ", " << ranks << " ranks, " << to_string(collective) << ", " << bytes << " bytes");
          const Topology topology = machine(made.description, ranks);
          if (!serves(topology, collective)) continue;
          const auto plan = planned(topology, collective, bytes, "hierarchical");
          if (!plan) FAIL_CHECK(to_string(plan.error()));
          if (!plan) continue;
          ++plans;
          depths.push_back(plan->header.groups.size());
          check_proved(*plan);
        }
  CHECK(plans == 354);  // of three machines two ranks share a processor, and don't lie by their numbers
  CHECK(*std::max_element(depths.begin(), depths.end()) >= 3);
}

TEST_CASE("groups of ranks that don't lie in the order of their numbers are followed all the same") {
  Topology topology = machine("package:2 numa:2 core:4 pu:1", 16);
  const Topology straight = topology;
  for (std::uint32_t rank = 0; rank < 16; ++rank) topology.ranks[rank] = straight.ranks[rank * 5 % 16];  // neighbours by number are on other memories
  CHECK(groups_of(topology) == groups_of(straight));
  for (const Collective collective : grouped) {
    INFO(to_string(collective));
    const auto plan = planned(topology, collective, 1 << 16, "hierarchical");
    if (collective == Collective::scan) {  // which is one in the order of numbers
      REQUIRE_FALSE(plan);
      CHECK(plan.error().detail == "hierarchical can't serve this scan: its groups aren't runs of ranks, as a scan's have to be");
      continue;
    }
    REQUIRE(plan);
    CHECK(plan->header.order.size() == 16);
    check_proved(*plan);
    const auto other = planned(straight, collective, 1 << 16, "hierarchical");
    if (!is_rooted(collective)) CHECK(crossing(*plan, 16 * 1024, 4) == crossing(*other, 16 * 1024, 4));
  }
}

TEST_CASE("contiguous groups of a power of two reduce strictly, and others say why not") {
  const auto answer = [](const Topology& topology, DataType type, Collective collective) -> std::string {
    const auto ranks = static_cast<std::uint32_t>(topology.ranks.size());
    Request request = request_of(collective, ranks, 1 << 12);
    request.type = type;
    request.strict = true;
    const auto plan = make_plan(topology, cost_model(topology, ranks), limits_of_shared_memory(), request, "hierarchical");
    if (!plan) return plan.error().detail.substr(plan.error().detail.find(": ") + 2);
    for (const Plan& form : {*plan, lower(*plan)})
      if (const Proof proof = verify(form); !is_strict(proof.strictness, type)) return "refused by the verifier: " + proof.departure;
    return "strict";
  };
  const std::string rounds = "it stores what is combined in part, which rounds this type";
  const std::string uneven = "its groups aren't runs of a power of two of ranks, as the one tree's are";
  for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter, Collective::scan}) {
    INFO(to_string(collective));
    CHECK(answer(machine("package:2 numa:2 core:4 pu:1", 16), DataType::f32, collective) == "strict");
    CHECK(answer(machine("package:3 numa:2 core:4 pu:1", 24), DataType::f32, collective) == "strict");
    CHECK(answer(machine(epyc, 192), DataType::f32, collective) == "strict");  // by L3 alone
    CHECK(answer(machine("package:2 core:6 pu:1", 12), DataType::f32, collective) == uneven);
    CHECK(answer(machine("package:2 core:4 pu:1", 8), DataType::bf16, collective) == rounds);
    Topology reversed = machine("package:2 core:4 pu:1", 8);
    std::reverse(reversed.ranks.begin(), reversed.ranks.end());
    CHECK(answer(reversed, DataType::f32, collective) == (collective == Collective::scan ? "its groups aren't runs of ranks, as a scan's have to be" : uneven));
  }
  // What is refused would indeed not be strict.
  CHECK(verify(*planned(machine("package:2 core:6 pu:1", 12), Collective::all_reduce, 1 << 12, "hierarchical")).strictness == Strictness::loose);
  CHECK(verify(*planned(machine("package:2 core:4 pu:1", 8), Collective::all_reduce, 1 << 12, "hierarchical")).strictness == Strictness::own_type);
}

TEST_CASE("premul_sum scales one of 64 sources, so a larger group can't take it, nor more than 64 groups a scan") {
  const auto served = [](const std::string& description, std::uint32_t ranks, Collective collective = Collective::all_reduce) {
    const Topology topology = machine(description, ranks);
    Request request = request_of(collective, ranks, 1 << 12);
    request.op = ReduceOp::premul_sum;
    return make_plan(topology, cost_model(topology, ranks), limits_of_shared_memory(), request, "hierarchical").has_value();
  };
  CHECK(served("package:2 core:64 pu:1", 128));
  CHECK_FALSE(served("package:2 core:65 pu:1", 130));
  CHECK(served("package:64 core:2 pu:1", 128, Collective::scan));
  CHECK_FALSE(served("package:65 core:2 pu:1", 130, Collective::scan));
  CHECK(served("package:65 core:2 pu:1", 130));
}
