// The shared memory of one process is bounded, whatever the message sizes and the number of communicators.
#pragma once

#include <cstdint>
#include <utility>

#include "rondo/result.hpp"

namespace rondo {

/// A part of the process's budget, given back on destruction.
class StagingShare {
 public:
  StagingShare() = default;
  explicit StagingShare(std::uint64_t bytes) : bytes_(bytes) {}
  StagingShare(StagingShare&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  StagingShare& operator=(StagingShare&& other) noexcept;
  ~StagingShare();
  std::uint64_t bytes() const { return bytes_; }
  /// Gives back what is beyond `bytes`. Thread-safe between shares.
  void shrink(std::uint64_t bytes);

 private:
  std::uint64_t bytes_ = 0;
};

/// What the first rank that a process creates takes of `budget_bytes` for its collectives.
std::uint64_t first_share(std::uint64_t budget_bytes);

/// Takes a share for the collectives of one of `ranks_here` ranks that this process creates together. The first ones get 4.25 MiB
/// at most, where there are several half of the budget together; later ones 512 KiB at most; when most is gone a thirty-second of what is left,
/// never less than least_share(). An eighth of the budget isn't given away like this: it is for pairs of ranks that send.
/// Error out_of_resources when not even that is left of `budget_bytes`. Thread-safe.
Result<StagingShare> take_share(std::uint64_t budget_bytes, std::uint32_t ranks_here);

/// Takes `bytes` for one side of a pair of ranks. Error out_of_resources when not so many are left. Thread-safe.
Result<StagingShare> take_pair_share(std::uint64_t budget_bytes, std::uint64_t bytes);

}  // namespace rondo
