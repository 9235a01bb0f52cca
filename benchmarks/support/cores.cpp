#include "support/cores.hpp"

#include <sched.h>

#include <vector>

namespace bench_support {
namespace {

const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = [] {
    std::vector<int> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return std::vector<int>{0};
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) found.push_back(core);
    return found;
  }();
  return cores;
}

}  // namespace

std::uint32_t usable_cores() { return static_cast<std::uint32_t>(allowed_cores().size()); }

bool pin_to_core(std::uint32_t index) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(allowed_cores()[index % usable_cores()], &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

}  // namespace bench_support
