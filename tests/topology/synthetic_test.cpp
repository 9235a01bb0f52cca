#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

TEST_CASE("a synthetic string gives the machine it describes") {
  const auto topology = read_synthetic("package:2 numa:2 l3:2 core:8 pu:2");
  REQUIRE(topology);
  check_form(*topology);
  CHECK(count(*topology, NodeKind::package) == 2);
  CHECK(count(*topology, NodeKind::numa) == 4);
  CHECK(count(*topology, NodeKind::cache) == 8);
  CHECK(count(*topology, NodeKind::core) == 64);
  CHECK(count(*topology, NodeKind::cpu) == 128);
  CHECK(topology->nodes.front().cpus.size() == 128);
  CHECK(topology->usable_cpus(0) == 128);
}

TEST_CASE("many forms of synthetic strings are read") {
  for (const auto* text :
       {"pu:1", "core:4 pu:1", "pack:2 core:2 pu:2", "package:2 l3:2 core:4 pu:1", "node:2 core:2 pu:1",
        "Package:2 L3Cache:1 L2Cache:2 L1dCache:1 Core:1 PU:2", "2 3 4", "group:2 pu:2",
        "package:2 [numa(memory=4GB)] core:2 pu:1", "numa:4 l3:1(size=32MB) core:2 pu:1"}) {
    INFO(text);
    const auto topology = read_synthetic(text);
    if (!topology) FAIL(topology.error().detail);
    check_form(*topology);
  }
}

TEST_CASE("a wrong synthetic string is refused in one line that names the wrong part") {
  const std::vector<std::pair<std::string, std::string>> wrong{{"", "it is empty"},
                                                               {"   ", "it is empty"},
                                                               {"package:2 coar:4 pu:1", "'coar' is no level"},
                                                               {"package:two", "'package:two' doesn't end in a count"},
                                                               {"core:0 pu:1", "'core:0' doesn't end in a count"},
                                                               {"core:-3", "doesn't end in a count"},
                                                               {"pu:1000000", "more than 65536 processors"},
                                                               {"core:99999 pu:99999999999999999999", ""},
                                                               {"pu:2 core:2", "hwloc refuses"},
                                                               {"nonsense", "doesn't end in a count"}};
  for (const auto& [text, part] : wrong) {
    INFO(text);
    const auto topology = read_synthetic(text);
    REQUIRE(!topology);
    const auto& detail = topology.error().detail;
    INFO(detail);
    CHECK(detail.find("'" + text + "'") != std::string::npos);
    CHECK(detail.find(part) != std::string::npos);
    CHECK(detail.find("expected") != std::string::npos);
    CHECK(detail.find('\n') == std::string::npos);
  }
}
