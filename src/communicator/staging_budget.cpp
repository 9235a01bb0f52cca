#include "communicator/staging_budget.hpp"

#include <algorithm>
#include <mutex>
#include <string>

namespace rondo {
namespace {

constexpr std::uint64_t full_share = std::uint64_t{1} << 20;
constexpr std::uint64_t least_share = std::uint64_t{24} << 10;  ///< control words and the smallest staging
constexpr std::uint64_t page = 4096;

// The budget is the process's by definition; it is the only state here that no communicator owns.
std::mutex mutex;
std::uint64_t taken = 0;

// The first communicators get all they can use; when five eighths are gone the others share what is left, ever less each.
std::uint64_t next_share(std::uint64_t budget_bytes, std::uint64_t gone, std::uint32_t ranks_here) {
  const std::uint64_t full = std::min(full_share, budget_bytes / 2 / std::max(1u, ranks_here));
  const std::uint64_t left = budget_bytes > gone ? budget_bytes - gone : 0;
  const std::uint64_t wanted = gone + full <= budget_bytes / 8 * 5 ? full : left / 32;
  return std::max(least_share, wanted / page * page);
}

}  // namespace

StagingShare& StagingShare::operator=(StagingShare&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

StagingShare::~StagingShare() {
  if (bytes_ == 0) return;
  const std::lock_guard lock(mutex);
  taken -= bytes_;
}

std::uint64_t first_share(std::uint64_t budget_bytes) { return next_share(budget_bytes, 0, 1); }

Result<StagingShare> take_staging(std::uint64_t budget_bytes, std::uint32_t ranks_here) {
  const std::lock_guard lock(mutex);
  const std::uint64_t left = budget_bytes > taken ? budget_bytes - taken : 0;
  const std::uint64_t bytes = next_share(budget_bytes, taken, ranks_here);
  if (bytes > left)
    return Error{Errc::out_of_resources, "a communicator needs " + std::to_string(least_share) + " bytes of shared memory, " + std::to_string(left) +
                                             " of " + std::to_string(budget_bytes) + " are left (RONDO_STAGING_BYTES raises the limit)", 0, "staging"};
  taken += bytes;
  return StagingShare(bytes);
}

}  // namespace rondo
