#include <unistd.h>

#include <array>

#include "rondo/topology.hpp"
#include "topology/files.hpp"
#include "topology/machine.hpp"

namespace rondo {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "this machine";
  return name.data();
}

// One number a boot, the same in every container and name space of the kernel. Host names differ between containers, so
// they serve only where the number can't be read.
std::string host_identity() {
  const std::string boot{trimmed(read_small_file("/proc/sys/kernel/random/boot_id"))};
  return boot.empty() ? std::string("host-") + host_name() : std::string("boot-") + boot;
}

}  // namespace rondo
