#include "communicator/staging_budget.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include "communicator/layouts.hpp"

namespace rondo {
namespace {

// The budget is the process's by definition; it is the only state here that no communicator owns.
std::mutex mutex;
std::uint64_t taken = 0;

std::uint64_t left_of(std::uint64_t limit) { return limit > taken ? limit - taken : 0; }

std::uint64_t limit_for_collectives(std::uint64_t budget_bytes) { return budget_bytes / 8 * 7; }

// What a rank can use: two rings of slots and control words. Two ranks gain by up to 1.5 MiB in a ring (0004-slot-protocol.md); where there are more, a ring
// has slots for each of them, and longer ones move more at once.
std::uint64_t useful_bytes(std::uint32_t size) {
  const std::uint64_t ring = std::clamp(std::uint64_t{size} << 18, std::uint64_t{3} << 19, std::uint64_t{2} << 20);
  return 2 * ring + ring / 8;
}

// The first communicator's ranks get all they can use, each later one's half of what is left but for a reserve, and when that is gone the others share the
// reserve, ever less each. Where ranks are threads a process needs several shares for each communicator, all alike, and keeps more for those to come. A
// communicator that is shrunk keeps its control words until it is destroyed: so that the one in its place gets as much, what is gone counts by whole units.
std::uint64_t next_share(std::uint64_t budget_bytes, std::uint64_t gone, std::uint64_t left, std::uint32_t size, std::uint32_t ranks_here) {
  const std::uint64_t ranks = std::max(1u, ranks_here), sixteenth = budget_bytes / 16;
  const std::uint64_t for_first = ranks == 1 ? 9 * sixteenth : 8 * sixteenth, for_later = ranks == 1 ? 13 * sixteenth : 10 * sixteenth;
  const std::uint64_t for_shrunk = sixteenth / 4, counted = gone / for_shrunk * for_shrunk;
  const std::uint64_t useful = useful_bytes(size), first = std::min(useful, (for_first - for_shrunk) / ranks);
  const std::uint64_t later = std::min(useful, ranks == 1 ? (for_later - std::min(for_later, counted)) / 2 : 2 * sixteenth / ranks);
  std::uint64_t wanted = left / 32;
  if (gone + first <= for_first) wanted = first;
  else if (gone + later <= for_later) wanted = std::max(wanted, later);
  return std::max(least_share(), wanted / area_page * area_page);
}

Result<StagingShare> take(std::uint64_t bytes, std::uint64_t left, std::uint64_t budget_bytes, const char* who) {
  if (bytes > left)
    return Error{Errc::out_of_resources, std::string(who) + " needs " + std::to_string(bytes) + " bytes of shared memory, " + std::to_string(left) + " of " +
                                             std::to_string(budget_bytes) + " are left for it (RONDO_STAGING_BYTES raises the limit)", 0, "staging"};
  taken += bytes;
  return StagingShare(bytes);
}

}  // namespace

StagingShare& StagingShare::operator=(StagingShare&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

StagingShare::~StagingShare() { shrink(0); }

void StagingShare::shrink(std::uint64_t bytes) {
  if (bytes >= bytes_) return;
  const std::lock_guard lock(mutex);
  taken -= bytes_ - bytes;
  bytes_ = bytes;
}

std::uint64_t first_share(std::uint64_t budget_bytes, std::uint32_t size) { return next_share(budget_bytes, 0, limit_for_collectives(budget_bytes), size, 1); }

Result<StagingShare> take_share(std::uint64_t budget_bytes, std::uint32_t size, std::uint32_t ranks_here) {
  const std::lock_guard lock(mutex);
  const std::uint64_t left = left_of(limit_for_collectives(budget_bytes));
  return take(next_share(budget_bytes, taken, left, size, ranks_here), left, budget_bytes, "a rank of a communicator");
}

Result<StagingShare> take_pair_share(std::uint64_t budget_bytes, std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  return take(bytes, left_of(budget_bytes), budget_bytes, "a pair of ranks that send");
}

}  // namespace rondo
