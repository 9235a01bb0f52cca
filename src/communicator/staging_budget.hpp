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

/// What the first rank that a process creates, of a communicator of `size`, takes of `budget_bytes` for its collectives.
std::uint64_t first_share(std::uint64_t budget_bytes, std::uint32_t size);

/// Takes a share for the collectives of one of `ranks_here` ranks, of a communicator of `size`, that this process creates together. The first ones get
/// 3.2 MiB, of 8 ranks and more 4.25, at most; where there are several here half of the budget together. Later ones get half of what is left, several an eighth
/// of the budget together, but for a reserve of which each takes a thirty-second when all else is gone; never less than least_share(). An eighth of the budget
/// isn't given away like this: it is for pairs of ranks that send. Error out_of_resources when not even that is left of `budget_bytes`. Thread-safe.
Result<StagingShare> take_share(std::uint64_t budget_bytes, std::uint32_t size, std::uint32_t ranks_here);

/// Takes `bytes` for one side of a pair of ranks. Error out_of_resources when not so many are left. Thread-safe.
Result<StagingShare> take_pair_share(std::uint64_t budget_bytes, std::uint64_t bytes);

}  // namespace rondo
