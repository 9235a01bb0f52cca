#include <cstdio>

#include "topology/hwloc_objects.hpp"
#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

const std::string old_format = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f" allowed_cpuset="0x0000000f">
    <info name="HostName" value="old"/>
    <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/><latency value="2.000000"/><latency value="2.000000"/><latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1024">
      <object type="Socket" os_index="0" cpuset="0x00000003">
        <object type="Cache" cpuset="0x00000003" cache_size="4096" depth="2">
          <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
          <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="1024">
      <object type="Socket" os_index="1" cpuset="0x0000000c">
        <object type="Core" os_index="0" cpuset="0x4"><object type="PU" os_index="2" cpuset="0x4"/></object>
        <object type="Core" os_index="1" cpuset="0x8"><object type="PU" os_index="3" cpuset="0x8"/></object>
      </object>
    </object>
  </object>
</topology>)";

// Version 2 of the format: a device of each kind, one processor that isn't allowed.
const std::string devices = R"(<topology version="2.0"><object type="Machine" allowed_cpuset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x3" gp_index="2" local_memory="4096"/>
  <object type="Core" gp_index="3"><object type="PU" os_index="0" gp_index="4"/></object>
  <object type="Core" gp_index="5"><object type="PU" os_index="1" gp_index="6"/></object>
  <object type="Bridge" bridge_type="0-1" gp_index="7">
    <object type="PCIDev" gp_index="8" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b0] [0:0] 00" pci_link_speed="31.5">
      <object type="OSDev" name="nvml0" osdev_type="1" gp_index="9"/></object>
    <object type="PCIDev" gp_index="10" pci_busid="0000:02:00.0" pci_type="0302 [10de:20b0] [0:0] 00">
      <object type="OSDev" name="nvml1" osdev_type="1" gp_index="11"/></object>
    <object type="PCIDev" gp_index="12" pci_busid="0000:03:00.0" pci_type="0207 [15b3:101b] [0:0] 00" pci_link_speed="31.5">
      <object type="OSDev" name="ib0" osdev_type="2" gp_index="13"/>
      <object type="OSDev" name="mlx5_0" osdev_type="3" gp_index="14"/></object>
    <object type="PCIDev" gp_index="15" pci_busid="0000:04:00.0" pci_type="0300 [1a03:2000] [0:0] 00">
      <object type="OSDev" name="card0" osdev_type="1" gp_index="16"/></object>
    <object type="PCIDev" gp_index="17" pci_busid="0000:05:00.0" pci_type="0108 [8086:0a54] [0:0] 00">
      <object type="OSDev" name="nvme0n1" osdev_type="0" gp_index="18"/></object>
  </object></object>
  <distances2 type="OSDev" nbobjs="2" kind="9" name="NVLinkBandwidth" indexing="gp">
    <indexes length="5">9 11 </indexes><u64values length="9">0 50000 50000 0 </u64values></distances2>
  <memattr name="Bandwidth" flags="5"><memattr_value target_obj_gp_index="2" target_obj_type="NUMANode" value="100000"
    initiator_cpuset="0x1"/></memattr>
</topology>)";

const Node& node_named(const Topology& topology, const std::string& name) {
  for (const auto& node : topology.nodes)
    if (node.name == name) return node;
  FAIL("no node is called " << name);
  return topology.nodes.front();
}

const Link& link_typed(const Topology& topology, std::string_view type) {
  for (const auto& link : topology.links)
    if (link.type == type) return link;
  FAIL("no link is of type " << type);
  return topology.links.front();
}

}  // namespace

TEST_CASE("the format of hwloc 1 is read") {
  const auto topology = read_hwloc_xml(old_format);
  REQUIRE(topology);
  check_form(*topology);
  CHECK(topology->nodes[0].name == "old");
  CHECK(count(*topology, NodeKind::package) == 2);
  CHECK(count(*topology, NodeKind::numa) == 2);
  CHECK(count(*topology, NodeKind::cpu) == 4);
  CHECK(node_named(*topology, "L2#0").bytes == 4096);
  CHECK(link_typed(*topology, "numa").latency_ns.value == 150);
}

TEST_CASE("devices are told apart") {
  const auto topology = read_hwloc_xml(devices);
  REQUIRE(topology);
  check_form(*topology);
  CHECK(count(*topology, NodeKind::gpu) == 2);
  CHECK(count(*topology, NodeKind::nic) == 1);
  CHECK(node_named(*topology, "ib0").detail == "mlx5_0, 0000:03:00.0");
  CHECK(node_named(*topology, "card0").kind == NodeKind::other);
  CHECK(node_named(*topology, "nvme0n1").kind == NodeKind::other);
}

TEST_CASE("processors that are not allowed are left out and the others keep their names") {
  const auto topology = read_hwloc_xml(devices);
  REQUIRE(topology);
  CHECK(topology->nodes[0].cpus == std::vector<std::uint32_t>{0});
  CHECK(count(*topology, NodeKind::core) == 1);
  std::string other = devices;
  other.replace(other.find("allowed_cpuset=\"0x1\""), 20, "allowed_cpuset=\"0x2\"");
  const auto rest = read_hwloc_xml(other);
  REQUIRE(rest);
  CHECK(node_named(*rest, "core#1").cpus == std::vector<std::uint32_t>{1});
}

TEST_CASE("figures that a file holds are marked as read") {
  const auto topology = read_hwloc_xml(devices);
  REQUIRE(topology);
  const auto& nvlink = link_typed(*topology, "nvlink");
  CHECK(nvlink.bandwidth_bytes_per_s.value == 50e9);
  CHECK(nvlink.bandwidth_bytes_per_s.provenance == Provenance::read);
  CHECK(nvlink.bandwidth_bytes_per_s.source.find("NVLinkBandwidth") != std::string::npos);
  CHECK(topology->nodes[nvlink.from].kind == NodeKind::gpu);
  const auto& memory = link_typed(*topology, "memory");
  bool read_memory = false;
  for (const auto& link : topology->links)
    read_memory = read_memory || (link.type == "memory" && link.bandwidth_bytes_per_s.value == 100000.0 * 1024 * 1024 &&
                                  link.bandwidth_bytes_per_s.provenance == Provenance::read);
  CHECK(read_memory);
  CHECK(memory.latency_ns.provenance == Provenance::assumed);
  for (const auto& link : topology->links) {
    if (topology->nodes[link.from].name == "gpu#0" && link.type == "pci") {
      CHECK(link.bandwidth_bytes_per_s.value == 31.5e9);
      CHECK(link.bandwidth_bytes_per_s.provenance == Provenance::read);
    }
    if (topology->nodes[link.from].name == "gpu#1" && link.type == "pci")
      CHECK(link.bandwidth_bytes_per_s.provenance == Provenance::assumed);
  }
}

TEST_CASE("the corpora's machines are read as they are") {
  struct Expected {
    const char* file;
    std::size_t packages, memories, cpus, gpus, nics, nvlinks;
  };
  for (const auto& expected :
       {Expected{"16amd64-8n2c-cpusets.xml", 6, 5, 10, 0, 0, 0},
        Expected{"96em64t-4n4d3ca2co-pci.xml", 16, 4, 96, 0, 8, 0}, Expected{"nvidiaDGX2.xml", 2, 2, 4, 16, 0, 96},
        Expected{"power8gpudistances.xml", 2, 2, 16, 4, 0, 6}}) {
    const auto text = corpus(expected.file);
    if (text.empty()) {
      std::puts("rondo-skip: corpora");  // see tests/allowed-skips.txt
      continue;
    }
    INFO(expected.file);
    const auto topology = read_hwloc_xml(text);
    REQUIRE(topology);
    check_form(*topology);
    CHECK(count(*topology, NodeKind::package) == expected.packages);
    CHECK(count(*topology, NodeKind::numa) == expected.memories);
    CHECK(count(*topology, NodeKind::cpu) == expected.cpus);
    CHECK(count(*topology, NodeKind::gpu) == expected.gpus);
    CHECK(count(*topology, NodeKind::nic) == expected.nics);
    CHECK(count_links(*topology, "nvlink") == expected.nvlinks);
  }
}

TEST_CASE("a file that ends early is refused wherever it ends") {
  for (std::size_t length = 0; length < devices.size(); length += 7) {
    const auto topology = read_hwloc_xml(std::string_view(devices).substr(0, length));
    REQUIRE(!topology);
    CHECK(topology.error().detail.find("not an hwloc XML file") == 0);
    CHECK(topology.error().detail.find('\n') == std::string::npos);
  }
}

TEST_CASE("the line at which a file breaks is named") {
  const auto topology = read_hwloc_xml("<topology>\n<object type=\"Machine\">\n</wrong>\n</topology>");
  REQUIRE(!topology);
  CHECK(topology.error().detail.find("line 3") != std::string::npos);
}

TEST_CASE("well-formed XML of another kind is refused with the reason") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"<system version='1'/>", "its root is <system>"},
      {"<topology/>", "holds no <object>"},
      {"<topology><object type='PU' os_index='0'/></topology>", "outermost object is a PU"},
      {"<topology><object type='Machine'/></topology>", "no processor"},
      {"<topology><object type='Machine'><object/></object></topology>", "no type"},
      {"<topology><object type='Machine' allowed_cpuset='zz'><object type='PU' os_index='0'/></object></topology>",
       "allowed_cpuset"}};
  for (const auto& [text, part] : wrong) {
    INFO(text);
    const auto topology = read_hwloc_xml(text);
    REQUIRE(!topology);
    CHECK(topology.error().detail.find(part) != std::string::npos);
  }
}

TEST_CASE("objects nested without end are refused") {
  std::string text = "<topology><object type='Machine'>";
  for (int i = 0; i < 100000; ++i) text += "<object type='Group'>";
  text += "<object type='PU' os_index='0'/>";
  for (int i = 0; i < 100000; ++i) text += "</object>";
  const auto topology = read_hwloc_xml(text + "</object></topology>");
  REQUIRE(!topology);
  CHECK(topology.error().detail.find("nested") != std::string::npos);
}

TEST_CASE("damaged files are read or refused, never worse") {
  // Every single attribute value in turn becomes nonsense.
  std::size_t read = 0;
  for (const auto* nonsense : {"", "-1", "99999999999999999999", "0xf...f", "nan"})
    for (std::size_t quote = devices.find("=\""); quote != std::string::npos; quote = devices.find("=\"", quote + 2)) {
      std::string text = devices;
      text.replace(quote + 2, text.find('"', quote + 2) - quote - 2, nonsense);
      const auto topology = read_hwloc_xml(text);
      if (!topology) continue;
      ++read;
      check_form(*topology);
      CHECK(!print_topology(*topology).empty());
      CHECK(read_topology_json(write_topology_json(*topology)));
    }
  CHECK(read > 0);
}

TEST_CASE("cpusets are read in all of hwloc's forms") {
  CHECK(*hwloc::parse_cpuset("0x00000005", 64) == std::vector<std::uint32_t>{0, 2});
  CHECK(*hwloc::parse_cpuset("0x1,0x0", 64) == std::vector<std::uint32_t>{32});
  CHECK(*hwloc::parse_cpuset("0x1,,0x2", 128) == std::vector<std::uint32_t>{1, 64});
  CHECK(*hwloc::parse_cpuset("0xf...f", 3) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(hwloc::parse_cpuset("0xf...f,0x0", 34)->size() == 2);
  CHECK(hwloc::parse_cpuset("0x0", 64)->empty());
  CHECK(!hwloc::parse_cpuset("hello", 64));
}
