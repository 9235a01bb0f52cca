// What is assumed of cores by the name of their processor.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/planner.hpp"

namespace rondo {
namespace {

// As `rondo calibrate` measured two cores of an EPYC (Zen 5), near (53 ns) and far (280 ns).
const CoreFigures amd{.copy_ns_per_byte = 0.009,
                      .reduce_ns_per_byte = 0.009,
                      .shared_ns_per_byte = 0.004,
                      .memory_ns_per_byte = 0.03,
                      .links = {{53, 0.017, 0.0125, 0.0125}, {280, 0.0299, 0.0272, 0.0272}},
                      .ring_bytes = 1 << 20,
                      .stream_parts = 1,
                      .kernel_ns_per_byte = 0.06,
                      .kernel_call_ns = 1800,
                      .step_ns = 4,
                      .call_ns = 15,
                      .switch_ns = 1000,
                      .source = {}};

// As `rondo calibrate` measured two cores of a Xeon of 2023 (Emerald Rapids, 149 ns), in the middle of four runs; but for stream_parts, which is what whole
// calls on another Xeon wanted (docs/design/0003-cost-model.md), and kernel_call_ns, which between two processes is longer than between two threads.
const CoreFigures intel{.copy_ns_per_byte = 0.0237,
                        .reduce_ns_per_byte = 0.0132,
                        .shared_ns_per_byte = 0.0227,
                        .memory_ns_per_byte = 0.0363,
                        .links = {{.latency_ns = 149,
                                   .pull_ns_per_byte = 0.0476,
                                   .publish_ns_per_byte = 0.039,
                                   .share_ns_per_byte = 0.0177,
                                   .fresh_pull_ns_per_byte = 0.1294}},
                        .ring_bytes = 256 << 10,
                        .stream_parts = 2,
                        .kernel_ns_per_byte = 0.0415,
                        .kernel_call_ns = 1000,
                        .step_ns = 9,
                        .call_ns = 35,
                        .switch_ns = 1000,
                        .source = {}};

// As `rondo calibrate` measured two cores of a Xeon of 2021 (Ice Lake, 140 ns), in the middle of several runs; but for kernel_call_ns, which between two
// processes is longer than between two threads: all_gathers of 64 KiB, read backwards; and for what sharing costs, which is that of the Xeon of 2019.
const CoreFigures intel_2021{.copy_ns_per_byte = 0.023,
                             .reduce_ns_per_byte = 0.0133,
                             .shared_ns_per_byte = 0.0255,
                             .memory_ns_per_byte = 0.053,
                             .links = {{140, 0.0741, 0.0777, 0.0767}},
                             .ring_bytes = 128 << 10,
                             .stream_parts = 4,
                             .kernel_ns_per_byte = 0.043,
                             .kernel_call_ns = 1400,
                             .step_ns = 16,
                             .call_ns = 63,
                             .switch_ns = 1000,
                             .source = {}};

// As `rondo calibrate` measured two cores of a Xeon of 2019 (Cascade Lake, 130 ns), in the middle of several runs.
const CoreFigures older_intel{.copy_ns_per_byte = 0.031,
                              .reduce_ns_per_byte = 0.0155,
                              .shared_ns_per_byte = 0.0255,
                              .memory_ns_per_byte = 0.074,
                              .links = {{130, 0.0943, 0.0742, 0.0767}},
                              .ring_bytes = 128 << 10,
                              .stream_parts = 32,
                              .kernel_ns_per_byte = 0.055,
                              .kernel_call_ns = 1000,
                              .step_ns = 18,
                              .call_ns = 70,
                              .switch_ns = 900,
                              .source = {}};

// In between.
const CoreFigures since_2017{.copy_ns_per_byte = 0.01,
                             .reduce_ns_per_byte = 0.01,
                             .shared_ns_per_byte = 0.01,
                             .memory_ns_per_byte = 0.03,
                             .links = {{100, 0.033, 0.023, 0.0195}, {250, 0.0526, 0.0426, 0.0488}},
                             .ring_bytes = 512 << 10,
                             .stream_parts = 2,
                             .kernel_ns_per_byte = 0.06,
                             .kernel_call_ns = 1500,
                             .step_ns = 4,
                             .call_ns = 15,
                             .switch_ns = 1000,
                             .source = {}};

struct Kind {
  std::string_view word;  ///< in the model's name
  std::string_view name;
  const CoreFigures* figures;
  std::uint64_t own_cache_below = ~std::uint64_t{0};  ///< bytes of a core
};
// The last one that fits counts.
constexpr Kind kinds[] = {{"AMD", "processors of AMD", &amd},
                          {"Intel", "processors of Intel", &intel},
                          {"Intel", "processors of Intel with less than 2 MiB of cache a core, as in 2021", &intel_2021, 2u << 20},
                          {"Intel", "processors of Intel with less than 1.25 MiB of cache a core, as until 2020", &older_intel, 5u << 18}};

/// The largest cache of the first core alone; where there is none to be seen, more than any.
std::uint64_t own_cache_bytes(const Topology& topology) {
  const auto core = std::find_if(topology.nodes.begin(), topology.nodes.end(), [](const Node& node) { return node.kind == NodeKind::core; });
  const std::uint64_t own = core == topology.nodes.end() ? 0 : core_cache_bytes(topology, *core);
  return own != 0 ? own : ~std::uint64_t{0} - 1;
}

}  // namespace

CoreFigures core_figures(const Topology& topology) {
  Kind kind{"", "servers since 2017", &since_2017};
  const std::uint64_t own_cache = own_cache_bytes(topology);
  for (const Node& node : topology.nodes)
    for (const Kind& known : kinds)
      if (node.kind == NodeKind::package && node.detail.find(known.word) != std::string::npos && own_cache < known.own_cache_below) kind = known;
  CoreFigures figures = *kind.figures;
  figures.source = "assumed, " + std::string(kind.name);
  return figures;
}

}  // namespace rondo
