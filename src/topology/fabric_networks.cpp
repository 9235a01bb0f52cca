// Networks of endpoints: tori and meshes, fat trees, dragonflies.
#include <algorithm>
#include <vector>

#include "topology/fabric_builder.hpp"
#include "topology/fabrics.hpp"

namespace rondo {
namespace {

LinkKind torus_link() {
  return link_kind("network", 50e9, "a link of TPU v4's torus (Jouppi et al., ISCA 2023)", switch_latency());
}

LinkKind fat_tree_link() { return link_kind("network", 50e9, "InfiniBand NDR: 400 Gb/s", switch_latency()); }

LinkKind dragonfly_link() { return link_kind("network", 25e9, "Slingshot: 200 Gb/s (De Sensi et al., SC 2020)", switch_latency()); }

/// An endpoint is a machine with one GPU, at the router or switch that it is given.
void add_endpoint(FabricBuilder& fabric, std::uint32_t at, const LinkKind& kind, double times = 1) {
  const std::uint32_t machine = fabric.machine("node");
  LinkKind in = kind;
  in.latency = network_latency();
  fabric.link(fabric.gpu(machine), at, in, times);
}

}  // namespace

Topology make_grid(const std::vector<std::uint32_t>& sizes, bool around) {
  FabricBuilder fabric;
  const LinkKind kind = torus_link();
  std::uint32_t endpoints = 1;
  for (const std::uint32_t size : sizes) endpoints *= size;
  fabric.reserve(3 * std::size_t{endpoints}, (sizes.size() + 1) * endpoints);
  for (std::uint32_t r = 0; r < endpoints; ++r) fabric.net_switch("router#" + std::to_string(r));
  for (std::uint32_t r = 0; r < endpoints; ++r) {
    add_endpoint(fabric, r, kind, 2.0 * static_cast<double>(sizes.size()));  // as much as all its router's links
    std::uint32_t stride = 1;
    for (const std::uint32_t size : sizes) {
      const std::uint32_t place = r / stride % size;
      if (place + 1 < size)
        fabric.link(r, r + stride, kind);
      else if (around && size > 2)
        fabric.link(r, r - place * stride, kind);
      stride *= size;
    }
  }
  return fabric.take();
}

Topology make_fat_tree(std::uint32_t ports) {
  FabricBuilder fabric;
  const LinkKind kind = fat_tree_link();
  const std::uint32_t half = ports / 2;
  std::vector<std::uint32_t> cores;
  for (std::uint32_t k = 0; k < half * half; ++k) cores.push_back(fabric.net_switch("core#" + std::to_string(k)));
  for (std::uint32_t pod = 0; pod < ports; ++pod) {
    std::vector<std::uint32_t> upper;
    for (std::uint32_t k = 0; k < half; ++k) {
      upper.push_back(fabric.net_switch("aggregation#" + std::to_string(pod * half + k)));
      for (std::uint32_t c = 0; c < half; ++c) fabric.link(upper.back(), cores[k * half + c], kind);
    }
    for (std::uint32_t k = 0; k < half; ++k) {
      const std::uint32_t edge = fabric.net_switch("edge#" + std::to_string(pod * half + k));
      for (const std::uint32_t above : upper) fabric.link(edge, above, kind);
      for (std::uint32_t e = 0; e < half; ++e) add_endpoint(fabric, edge, kind);
    }
  }
  return fabric.take();
}

Topology make_dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t endpoints) {
  FabricBuilder fabric;
  const LinkKind kind = dragonfly_link();
  for (std::uint32_t r = 0; r < groups * routers; ++r) fabric.net_switch("router#" + std::to_string(r));
  for (std::uint32_t group = 0; group < groups; ++group)
    for (std::uint32_t r = 0; r < routers; ++r) {
      const std::uint32_t here = group * routers + r;
      for (std::uint32_t other = r + 1; other < routers; ++other) fabric.link(here, group * routers + other, kind);
      for (std::uint32_t e = 0; e < endpoints; ++e) add_endpoint(fabric, here, kind);
    }
  // A group's routers take the links to the other groups by turns.
  for (std::uint32_t a = 0; a < groups; ++a)
    for (std::uint32_t b = a + 1; b < groups; ++b) fabric.link(a * routers + (b - 1) % routers, b * routers + a % routers, kind);
  return fabric.take();
}

}  // namespace rondo
