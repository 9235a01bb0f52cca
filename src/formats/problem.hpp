// The first thing found wrong in a file. Readers go on with defaults after it, so that each getter needs no branch of
// its own at every call; whoever loops looks at any().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rondo/result.hpp"

namespace rondo::formats {

// What a file may ask for. They keep a hostile file from claiming more memory than its own size would explain; the
// largest public plans stay two orders of magnitude below.
inline constexpr std::size_t max_file_bytes = std::size_t{32} << 20;
inline constexpr std::uint32_t max_ranks = 1 << 14;
inline constexpr std::uint32_t max_chunks = 1 << 16;  // of one buffer of one rank
inline constexpr std::uint32_t max_channels = 1 << 16;
inline constexpr std::uint64_t max_all_chunks = 1 << 22;      // of all buffers of all ranks
inline constexpr std::uint64_t max_chunk_accesses = 1 << 24;  // of all steps

class Problem {
 public:
  bool any() const { return first_.has_value(); }

  /// Keeps the first report; later ones are often its consequences.
  void report(std::string detail, Errc code = Errc::invalid_plan) {
    if (!first_) first_ = Error{code, std::move(detail), 0, where_};
  }

  const Error& error() const { return *first_; }

  explicit Problem(const char* where) : where_(where) {}

 private:
  const char* where_;
  std::optional<Error> first_;
};

}  // namespace rondo::formats
