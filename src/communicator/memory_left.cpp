#include "communicator/memory_left.hpp"

#include "base/text.hpp"
#include "communicator/doctor_groups.hpp"
#include "topology/files.hpp"

namespace rondo {
namespace {

void lower(MemoryLeft& left, std::uint64_t bytes, const char* bound) {
  if (left.bytes != 0 && left.bytes <= bytes) return;
  left = {bytes, bound};
}

/// A line of /proc/meminfo, "12 kB"; 0 when there is none.
std::uint64_t memory_figure(std::string_view key) {
  const std::string line = line_of("/proc/meminfo", key);
  return parse_unsigned(line.substr(0, line.find(' '))).value_or(0) << 10;
}

}  // namespace

MemoryLeft memory_left() {
  MemoryLeft left;
  if (const std::uint64_t available = memory_figure("MemAvailable"); available != 0) lower(left, available, "are available");
  if (const auto limit = doctor::memory_limit_of_groups()) lower(left, *limit, "is the control group's limit");
  const std::uint64_t committed = memory_figure("Committed_AS"), most = memory_figure("CommitLimit");
  const bool strict = trimmed(read_small_file("/proc/sys/vm/overcommit_memory")) == "2";
  if (strict && most > committed) lower(left, most - committed, "are left under strict overcommit");
  return left;
}

}  // namespace rondo
