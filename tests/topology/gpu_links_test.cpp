#include "topology/gpu_links.hpp"
#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

/// GPUs where the made-up library (made_up_nvml.c) has three of its four, each below a memory of its own.
constexpr const char* machine = R"(<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3">
  <object type="Package" os_index="0" cpuset="0x3" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" gp_index="2" local_memory="1024"/>
    <object type="PU" os_index="0" cpuset="0x1" gp_index="3"/><object type="PU" os_index="1" cpuset="0x2" gp_index="4"/>
    <object type="Bridge" gp_index="5" bridge_type="0-1" depth="0" bridge_pci="0000:[00-c1]">
      <object type="PCIDev" gp_index="6" pci_busid="0000:06:00.0" pci_type="0302 [10de:2330] [0:0] 00" pci_link_speed="31.5"/>
      <object type="PCIDev" gp_index="7" pci_busid="0000:07:00.0" pci_type="0302 [10de:2330] [0:0] 00" pci_link_speed="31.5"/>
      <object type="PCIDev" gp_index="8" pci_busid="0000:0a:00.0" pci_type="0302 [10de:2330] [0:0] 00" pci_link_speed="31.5"/>
    </object>
  </object>
</object></topology>)";

const std::string library = MADE_UP_NVML;

double gigabytes_between(const Topology& topology, const std::string& one, const std::string& other) {
  for (const Link& link : topology.links) {
    const std::string &from = topology.nodes[link.from].name, &to = topology.nodes[link.to].name;
    if (link.type == "nvlink" && ((from == one && to == other) || (from == other && to == one))) return link.bandwidth_bytes_per_s.value / 1e9;
  }
  return 0;
}

}  // namespace

TEST_CASE("NVML tells which GPUs there are, what links them, and which can't reach one another") {
  const auto facts = nvml::read({"/nowhere/libnvidia-ml.so.1", library});
  REQUIRE(facts);
  REQUIRE(facts->gpus.size() == 4);  // the third of five is lost
  CHECK(facts->gpus[0].address == "0000:06:00.0");
  CHECK(facts->gpus[3].address == "0000:c1:00.0");
  CHECK(facts->gpus[1].model == "Made-up 1");
  CHECK(facts->gpus[1].sm == 90);
  REQUIRE(facts->gpus[0].links.size() == 3);
  CHECK(facts->gpus[0].links[0].peer == nvml::Peer::gpu);
  CHECK(facts->gpus[0].links[0].address == "0000:07:00.0");
  CHECK(facts->gpus[0].links[0].count == 4);
  CHECK(facts->gpus[0].links[1].peer == nvml::Peer::nvswitch);
  CHECK(facts->gpus[0].links[1].count == 2);
  CHECK(facts->gpus[3].links.empty());
  REQUIRE(facts->apart.size() == 5);  // all pairs but the first
  CHECK(facts->apart[0].gpu == 0);
  CHECK(facts->apart[0].other == 2);
  CHECK(facts->apart[0].why == "they are below different bridges of the processor");
}

TEST_CASE("a missing, a strange and a failing NVML are errors that say what was tried") {
  const auto missing = nvml::read({"/nowhere/libnvidia-ml.so.1"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::unsupported);
  CHECK(missing.error().detail.find("/nowhere/libnvidia-ml.so.1") != std::string::npos);
  const auto strange = nvml::read({"libm.so.6"});
  REQUIRE_FALSE(strange);
  CHECK(strange.error().detail.find("nvmlInitWithFlags, nvmlShutdown") != std::string::npos);
  const auto failing = nvml::read({library.substr(0, library.size() - 3) + "_fails.so"});
  REQUIRE_FALSE(failing);
  CHECK(failing.error().detail.find("Driver Not Loaded") != std::string::npos);
}

TEST_CASE("NVLinks join the GPUs of a topology by their PCI addresses") {
  auto topology = read_hwloc_xml(machine);
  REQUIRE(topology);
  const auto facts = nvml::read({library});
  REQUIRE(facts);
  add_gpu_links(*topology, *facts);
  check_form(*topology);
  CHECK(count_links(*topology, "nvlink") == 4);
  CHECK(gigabytes_between(*topology, "gpu#0", "gpu#1") == Approx(4 * 20.6));
  CHECK(gigabytes_between(*topology, "gpu#0", "nvswitch#0") == Approx(4 * 20.6));  // two and two: the machine's switches are one
  CHECK(gigabytes_between(*topology, "gpu#2", "nvswitch#0") == Approx(8 * 20.6));
  const Link& link = topology->links[topology->links.size() - 1];
  CHECK(link.bandwidth_bytes_per_s.source.find("counted by NVML") != std::string::npos);

  const auto again = read_topology_json(write_topology_json(*topology));
  REQUIRE(again);
  CHECK(write_topology_json(*again) == write_topology_json(*topology));
  CHECK(again->nodes[link.from].address == topology->nodes[link.from].address);

  const std::size_t links = topology->links.size();
  add_gpu_links(*topology, *facts);
  CHECK(topology->links.size() == links);  // they are known
}

TEST_CASE("ranks are placed on the GPUs that they name, and then talk along their links") {
  auto topology = read_hwloc_xml(machine);
  REQUIRE(topology);
  add_gpu_links(*topology, *nvml::read({library}));
  *topology = with_ranks(std::move(*topology), 2);
  const double between_processors = topology->between(0, 1).latency_ns;
  CHECK_FALSE(place_on_gpus(*topology, {"0000:06:00.0", "0000:06:00.0"}));  // they share one
  CHECK_FALSE(place_on_gpus(*topology, {"0000:06:00.0", "0000:c1:00.0"}));  // the topology doesn't have it
  CHECK_FALSE(place_on_gpus(*topology, {"0000:06:00.0"}));
  CHECK(topology->between(0, 1).latency_ns == between_processors);
  REQUIRE(place_on_gpus(*topology, {"0000:07:00.0", "0000:06:00.0"}));
  CHECK(topology->nodes[static_cast<std::size_t>(topology->ranks[0].node)].name == "gpu#1");
  CHECK(topology->between(0, 1).bandwidth_bytes_per_s == Approx(4 * 20.6e9));
  REQUIRE(place_on_gpus(*topology, {"0000:06:00.0", "0000:0a:00.0"}));
  CHECK(topology->between(0, 1).bandwidth_bytes_per_s == Approx(4 * 20.6e9));  // to the switch, and wider from there
}

TEST_CASE("a machine without GPUs has no links to add, and NVML isn't asked") {
  auto topology = read_synthetic("package:1 core:2 pu:1");
  REQUIRE(topology);
  const std::string before = write_topology_json(*topology);
  CHECK(add_gpu_links(*topology));
  CHECK(write_topology_json(*topology) == before);
}
