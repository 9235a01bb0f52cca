#include "device/figures.hpp"

#include <algorithm>
#include <string>

namespace rondo::device {
namespace {

constexpr double reached = 0.9;             ///< of what clock and width of the memory give
constexpr double flag_ns = 3000;            ///< a word stored by one block until another sees it, in one GPU's L2
constexpr double far_flag_ns = 4000;        ///< the same over NVLink
constexpr double round_ns = 25000;          ///< a kernel started and heard of by the host, and ranks come together there
constexpr double usual_link_bytes_per_s = 200e9;  ///< of a GPU to its peers, one way
constexpr double start_ns = 3000;           ///< of a kernel
constexpr double host_bytes_per_s = 12e9;  ///< through host memory and back, by a bus that carries 25e9 each way
constexpr double step_ns = 60;
constexpr double cell_line_ns = 5;          ///< 56 bytes in cells more: read by threads side by side

}  // namespace

CostModel gpu_cost(const GpuFigures& figures) {
  // A byte read from memory, or written there. What a call touches of its own buffers is counted once (shared_ns_per_byte); what it reads of the peers' or
  // leaves to them, besides.
  const double byte_ns = 1e9 * figures.ranks / (figures.memory_bytes_per_s * reached);
  CostModel cost;
  cost.core.copy_ns_per_byte = byte_ns;
  cost.core.shared_ns_per_byte = byte_ns;
  cost.core.step_ns = step_ns;
  cost.core.call_ns = start_ns;
  cost.core.source = "assumed, GPUs";
  cost.latency_ns = figures.by_turns ? round_ns : figures.same ? flag_ns : far_flag_ns;
  cost.line_ns = cell_line_ns;
  const double usual = figures.through_host ? host_bytes_per_s : usual_link_bytes_per_s;
  const double link_bytes_per_s = figures.link_bytes_per_s > 0 ? figures.link_bytes_per_s : usual;
  cost.pull_ns_per_byte = figures.same && !figures.through_host ? byte_ns : std::max(byte_ns, 1e9 / link_bytes_per_s);
  cost.publish_ns_per_byte = cost.pull_ns_per_byte;
  cost.pieces_at_once = figures.blocks;
  cost.cache_bytes = std::uint64_t{1} << 50;
  cost.sources = {"assumed, GPUs; memory by its clock and width" + std::string(figures.link_bytes_per_s > 0 ? "; links as the topology has them" : "")};
  return cost;
}

}  // namespace rondo::device
