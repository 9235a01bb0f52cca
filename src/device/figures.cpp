#include "device/figures.hpp"

#include <algorithm>

namespace rondo::device {
namespace {

constexpr double reached = 0.9;             ///< of what clock and width of the memory give
constexpr double flag_ns = 3000;            ///< a word stored by one block until another sees it, in one GPU's L2
constexpr double far_flag_ns = 4000;        ///< the same over NVLink
constexpr double link_bytes_per_s = 200e9;  ///< of a GPU to its peers, one way
constexpr double start_ns = 3000;           ///< of a kernel
constexpr double step_ns = 60;
constexpr double cell_line_ns = 5;          ///< 56 bytes in cells more: read by threads side by side

}  // namespace

CostModel gpu_cost(const GpuFigures& figures) {
  const double bytes_per_ns = figures.memory_bytes_per_s * reached / figures.ranks / 1e9;
  CostModel cost;
  // Each byte that is copied or combined is read and written.
  cost.core.copy_ns_per_byte = 2 / bytes_per_ns;
  cost.core.reduce_ns_per_byte = 0;
  cost.core.step_ns = step_ns;
  cost.core.call_ns = start_ns;
  cost.core.source = "assumed, GPUs";
  cost.latency_ns = figures.same != 0 ? flag_ns : far_flag_ns;
  cost.line_ns = cell_line_ns;
  cost.pull_ns_per_byte = figures.same != 0 ? 2 / bytes_per_ns : std::max(2 / bytes_per_ns, 1e9 / link_bytes_per_s);
  cost.publish_ns_per_byte = cost.core.copy_ns_per_byte;
  cost.own_cache_bytes = static_cast<std::uint64_t>(figures.cache_bytes / figures.ranks);
  cost.cache_bytes = std::uint64_t{1} << 50;
  cost.sources = {"assumed, GPUs; memory by its clock and width"};
  return cost;
}

}  // namespace rondo::device
