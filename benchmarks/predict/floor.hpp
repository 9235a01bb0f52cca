// A flag between the first and the last rank: which of its states the machine is in.
#pragma once

#include <atomic>
#include <cstdint>

namespace predict {

struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
};

/// In memory that the ranks share. Each rank has an end of its own.
struct FlagPair {
  Flag flags[2];
};

class Floor {
 public:
  Floor(FlagPair& pair, std::uint32_t rank, std::uint32_t ranks) : pair_(pair), rank_(rank), last_(ranks - 1) {}

  /// One way, ns: the best of a few batches. All ranks call it; those between the ends get 0 at once.
  double measure();

 private:
  FlagPair& pair_;
  std::uint32_t rank_, last_;
  std::uint64_t count_ = 0;
};

}  // namespace predict
