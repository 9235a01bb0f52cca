#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <sstream>

#include "base/descriptors.hpp"
#include "base/fd.hpp"
#include "rondo/topology.hpp"
#include "topology/files.hpp"
#include "topology/identity.hpp"
#include "topology/machine.hpp"

namespace rondo {

std::string identity_of(std::string_view form, std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  std::ostringstream identity;
  identity << form << '-' << std::hex << hash;
  return identity.str();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "this machine";
  return name.data();
}

// One number a boot, the same in every container and name space of the kernel but for the network's: ranks in different ones reach one another over
// it alone, as those of different machines do. Host names differ between containers, so they serve only where there is no such number: a mere lack
// of descriptors must not make one machine look like two.
Result<std::string> host_identity() {
  // Remembered, and read by one thread at a time: ranks that are threads take no descriptor for it once one of them has it.
  static std::mutex mutex;
  static std::string known;
  const std::lock_guard lock(mutex);
  if (!known.empty()) return known;
  const Fd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE))
    return no_descriptor_left("read this machine's identity with", errno, "topology");
  std::array<char, 64> text{};
  const ssize_t got = file ? read(file.get(), text.data(), text.size()) : 0;
  const std::string_view boot = trimmed({text.data(), got > 0 ? static_cast<std::size_t>(got) : 0});
  std::array<char, 64> space{};
  const ssize_t length = readlink("/proc/self/ns/net", space.data(), space.size());
  known = (boot.empty() ? "host-" + host_name() : "boot-" + std::string(boot)) + "/";
  known.append(space.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return known;
}

}  // namespace rondo
