// Machines of GPUs that are joined by wires, under any numbers.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "rondo/topology.hpp"
#include "support/catch.hpp"

namespace rondo::test {

struct Wire {
  std::uint32_t a, b, count;
};

/// NVIDIA's DGX-1 with V100s: a hybrid cube mesh, 6 NVLinks a GPU (its system architecture white paper, WP-08437).
inline const std::vector<Wire> cube_mesh = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                     {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};

inline std::vector<std::uint32_t> by_number(std::uint32_t gpus) {
  std::vector<std::uint32_t> numbers(gpus);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// GPU k of the wires is called `names[k]` and stands at that place of the file.
inline Topology machine(std::uint32_t gpus, const std::vector<Wire>& wires, const std::vector<std::uint32_t>& names) {
  std::vector<std::string> lines(gpus);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    std::string& line = lines[names[gpu]];
    line = "<pci busid=\"g" + std::to_string(gpu) + R"(" class="0x030200" link_speed="8 GT/s" link_width="16"><gpu sm="70">)";
    for (const Wire& wire : wires)
      if (wire.a == gpu || wire.b == gpu)
        line += "<nvlink target=\"g" + std::to_string(wire.a == gpu ? wire.b : wire.a) + R"(" tclass="0x030200" count=")" + std::to_string(wire.count) + "\"/>";
    line += "</gpu></pci>";
  }
  std::string text = "<system version=\"1\"><cpu numaid=\"0\" affinity=\"ff\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">";
  for (const std::string& line : lines) text += line;
  const auto topology = read_nccl_xml(text + "</cpu></system>");
  if (!topology) FAIL(topology.error().detail);
  return with_ranks(*topology, gpus);
}

}  // namespace rondo::test
