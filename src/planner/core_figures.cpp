// What is assumed of cores by the name of their processor.
#include <string>
#include <string_view>

#include "rondo/planner.hpp"

namespace rondo {
namespace {

// As `rondo calibrate` measured two cores of an EPYC (Zen 5), near (53 ns) and far (280 ns).
constexpr CoreFigures amd{.copy_ns_per_byte = 0.009,
                          .reduce_ns_per_byte = 0.009,
                          .fetch_ns_per_byte = 0.014,
                          .shared_ns_per_byte = 0.004,
                          .memory_ns_per_byte = 0.03,
                          .pull_lines = 275,
                          .publish_lines = 240,
                          .share_lines = 0,
                          .ring_bytes = 1 << 20,
                          .stream_parts = 1,
                          .step_ns = 4,
                          .call_ns = 15,
                          .switch_ns = 1000,
                          .source = {}};

// What all-reduces between two cores of a Xeon took (benchmarks/results/xeon-2-cores-2-ranks.json, 150 ns), read backwards.
constexpr CoreFigures intel{.copy_ns_per_byte = 0.012,
                            .reduce_ns_per_byte = 0.012,
                            .fetch_ns_per_byte = 0.035,
                            .shared_ns_per_byte = 0.03,
                            .memory_ns_per_byte = 0.03,
                            .pull_lines = 67,
                            .publish_lines = 62,
                            .share_lines = 78,
                            .ring_bytes = 128 << 10,
                            .stream_parts = 2,
                            .step_ns = 4,
                            .call_ns = 15,
                            .switch_ns = 1000,
                            .source = {}};

// In between.
constexpr CoreFigures other{.copy_ns_per_byte = 0.01,
                            .reduce_ns_per_byte = 0.01,
                            .fetch_ns_per_byte = 0.02,
                            .shared_ns_per_byte = 0.01,
                            .memory_ns_per_byte = 0.03,
                            .pull_lines = 120,
                            .publish_lines = 120,
                            .share_lines = 80,
                            .ring_bytes = 512 << 10,
                            .stream_parts = 2,
                            .step_ns = 4,
                            .call_ns = 15,
                            .switch_ns = 1000,
                            .source = {}};

struct Kind {
  std::string_view word;  ///< in the model's name
  std::string_view name;
  const CoreFigures* figures;
};
constexpr Kind kinds[] = {{"AMD", "processors of AMD", &amd}, {"Intel", "processors of Intel", &intel}};

}  // namespace

CoreFigures core_figures(const Topology& topology) {
  Kind kind{"", "servers since 2017", &other};
  for (const Node& node : topology.nodes)
    for (const Kind& known : kinds)
      if (node.kind == NodeKind::package && node.detail.find(known.word) != std::string::npos) kind = known;
  CoreFigures figures = *kind.figures;
  figures.source = "assumed, " + std::string(kind.name);
  return figures;
}

}  // namespace rondo
