// Boxes of GPUs, with the nominal bandwidths of their makers' data sheets.
#include <array>
#include <vector>

#include "topology/fabric_builder.hpp"
#include "topology/fabrics.hpp"

namespace rondo {
namespace {

/// A box whose GPUs hang from PCI switches, a few on each, with network interfaces beside them; and how they are joined besides.
struct GpuBox {
  const char* name;
  std::uint32_t gpus;
  std::uint32_t gpus_a_switch;      ///< PCI switches: gpus / this
  std::uint32_t interfaces_a_switch;
  LinkKind pci;                     ///< of a GPU, an interface, and a switch
  LinkKind interface;
  LinkKind wire;                    ///< one NVLink
  std::uint32_t wires_to_switch;    ///< of each GPU; 0: no NVSwitch
};

struct Pair {
  std::uint32_t a, b, count;
};

/// The hybrid cube mesh of a DGX-1 with V100s (NVIDIA WP-08437).
constexpr std::array cube_mesh{Pair{0, 1, 1}, Pair{0, 2, 1}, Pair{0, 3, 2}, Pair{0, 4, 2}, Pair{1, 2, 2}, Pair{1, 3, 1}, Pair{1, 5, 2}, Pair{2, 3, 2},
                               Pair{2, 6, 1}, Pair{3, 7, 1}, Pair{4, 5, 1}, Pair{4, 6, 1}, Pair{4, 7, 2}, Pair{5, 6, 2}, Pair{5, 7, 1}, Pair{6, 7, 2}};

LinkKind pci(int generation) {
  const double bytes_per_s = generation == 3 ? 15.75e9 : generation == 4 ? 31.5e9 : 63e9;
  return link_kind("pci", bytes_per_s, "PCIe " + std::to_string(generation) + ".0 x16", assumed(150, "default for a PCI hop"));
}

LinkKind interface(double gigabits, const char* source) { return link_kind("network", gigabits * 1e9 / 8, source, network_latency()); }

LinkKind nvlink(double bytes_per_s, const char* source) { return link_kind("nvlink", bytes_per_s, source, device_link_latency()); }

const LinkKind between_sockets = link_kind("fabric", 32e9, "between the sockets of a box: a guess", assumed(150, "default for one NUMA node's memory"));

/// One box; returns its interfaces.
std::vector<std::uint32_t> add_box(FabricBuilder& fabric, const GpuBox& box) {
  const std::uint32_t machine = fabric.machine(box.name);
  std::vector<std::uint32_t> gpus, interfaces;
  const std::uint32_t nvswitch = box.wires_to_switch > 0 ? fabric.node(NodeKind::net_switch, "nvswitch", static_cast<std::int32_t>(machine)) : 0;
  for (std::uint32_t k = 0; k < box.gpus / box.gpus_a_switch; ++k) {
    const std::uint32_t bridge = fabric.node(NodeKind::pci_bridge, "bridge " + std::to_string(k), static_cast<std::int32_t>(machine));
    fabric.link(bridge, machine, between_sockets);
    for (std::uint32_t g = 0; g < box.gpus_a_switch; ++g) {
      gpus.push_back(fabric.gpu(machine));
      fabric.link(gpus.back(), bridge, box.pci);
      if (box.wires_to_switch > 0) fabric.link(gpus.back(), nvswitch, box.wire, box.wires_to_switch);
    }
    for (std::uint32_t i = 0; i < box.interfaces_a_switch; ++i) {
      interfaces.push_back(fabric.node(NodeKind::nic, "nic#" + std::to_string(interfaces.size()), static_cast<std::int32_t>(machine)));
      fabric.link(interfaces.back(), bridge, box.pci);
    }
  }
  return interfaces;
}

/// All boxes on one network that never gets in their way.
Topology boxes(const GpuBox& box, std::uint32_t machines) {
  FabricBuilder fabric;
  const std::size_t switches = box.gpus / box.gpus_a_switch;
  fabric.reserve((2 + box.gpus + switches * (1 + box.interfaces_a_switch)) * machines + 1,
                 (2 * box.gpus + switches * (1 + 2 * box.interfaces_a_switch)) * machines);
  std::vector<std::uint32_t> interfaces;
  for (std::uint32_t m = 0; m < machines; ++m)
    for (const std::uint32_t one : add_box(fabric, box)) interfaces.push_back(one);
  const std::uint32_t network = fabric.net_switch("network");
  for (const std::uint32_t one : interfaces) fabric.link(one, network, box.interface);
  return fabric.take();
}

GpuBox dgx_h100() {
  return {"dgx-h100", 8, 2, 2, pci(5), interface(400, "NVIDIA DGX H100 data sheet: 400 Gb/s an interface"),
          nvlink(25e9, "NVIDIA H100 data sheet: 18 NVLinks, 900 GB/s both ways"), 18};
}

}  // namespace

Topology make_dgx_a100(std::uint32_t machines) {
  return boxes({"dgx-a100", 8, 2, 2, pci(4), interface(200, "NVIDIA DGX A100 data sheet: 200 Gb/s an interface"),
                nvlink(25e9, "NVIDIA A100 data sheet: 12 NVLinks, 600 GB/s both ways"), 12},
               machines);
}

Topology make_dgx_h100(std::uint32_t machines) { return boxes(dgx_h100(), machines); }

Topology make_dgx2(std::uint32_t machines) {
  return boxes({"dgx2", 16, 2, 1, pci(3), interface(100, "NVIDIA DGX-2 data sheet: 100 Gb/s an interface"),
                nvlink(25e9, "NVIDIA V100 data sheet: 6 NVLinks, 300 GB/s both ways"), 6},
               machines);
}

Topology make_ndv2(std::uint32_t machines) {
  const GpuBox box{"ndv2", 8, 8, 1, pci(3), interface(100, "Azure NDv2 series: one interface of 100 Gb/s"),
                nvlink(25e9, "NVIDIA V100 data sheet: 6 NVLinks, 300 GB/s both ways"), 0};
  Topology topology = boxes(box, machines);
  std::vector<std::uint32_t> gpus;
  for (std::uint32_t n = 0; n < topology.nodes.size(); ++n)
    if (topology.nodes[n].kind == NodeKind::gpu) gpus.push_back(n);
  for (std::uint32_t m = 0; m < machines; ++m)
    for (const Pair& pair : cube_mesh) {
      topology.links.push_back({gpus[8 * m + pair.a], gpus[8 * m + pair.b], box.wire.type, box.wire.bandwidth, box.wire.latency});
      topology.links.back().bandwidth_bytes_per_s.value *= pair.count;
    }
  return topology;
}

Topology make_pcie(std::uint32_t machines) {
  return boxes({"pcie", 8, 2, 1, pci(4), interface(200, "an interface of 200 Gb/s for each PCI switch: a guess"), {}, 0}, machines);
}

Topology make_rail(std::uint32_t machines) {
  FabricBuilder fabric;
  const GpuBox box = dgx_h100();
  std::vector<std::vector<std::uint32_t>> interfaces;
  for (std::uint32_t m = 0; m < machines; ++m) interfaces.push_back(add_box(fabric, box));
  const std::uint32_t spine = fabric.net_switch("spine");
  for (std::uint32_t rail = 0; rail < interfaces[0].size(); ++rail) {
    const std::uint32_t leaf = fabric.net_switch("rail#" + std::to_string(rail));
    for (const auto& of_box : interfaces) fabric.link(of_box[rail], leaf, box.interface);
    LinkKind up = box.interface;
    up.latency = switch_latency();
    fabric.link(leaf, spine, up, machines);
  }
  return fabric.take();
}

}  // namespace rondo
