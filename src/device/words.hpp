// The bytes that ranks share in device memory: what each rank's area holds, and where. Who writes what when is docs/design/0020-device-executor.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/host_device.hpp"

namespace rondo::device {

inline constexpr std::uint32_t max_ranks = 64;    ///< of a group
inline constexpr std::uint32_t max_lanes = 64;    ///< of a program
inline constexpr std::uint32_t max_slices = 512;  ///< parts of a message that run side by side, each by a block a lane
inline constexpr std::uint32_t inline_lines = 32; ///< as the compiler counts them, of one call parity
inline constexpr std::uint32_t cells_per_line = 7;
inline constexpr std::uint32_t cell_payload = 8;

/// Why a rank's calls ended; RankWords::state and Report::outcome.
enum class Outcome : std::uint64_t { running = 0, mismatch, peer_failed, deadline_exceeded, aborted };

/// A rank's own. All but `started` and `state` are for its own blocks.
struct alignas(128) RankWords {
  std::uint64_t started;         ///< the call it is in: it has finished the one before
  std::uint64_t state;           ///< Outcome: what it isn't running for any more
  std::uint64_t call;            ///< that it has finished last
  std::uint64_t history;         ///< digests of all calls so far, chained
  std::uint64_t entered_by_all;  ///< the last call in which it heard from every peer
  std::uint64_t arrivals;        ///< blocks that are through with the call
  std::uint64_t exchange;        ///< by turns, of a pair: the exchange that it is in,
  std::uint64_t exchanged;       ///< how many of its messages it is through with,
  std::uint64_t place;           ///< and where it stopped in the next: turn << 32 | step
};

/// Progress of one lane in one slice. `digest` and `buffers`, by call parity, are written before a call's first signal.
struct alignas(128) LaneWords {
  std::uint64_t progress;
  std::uint64_t digest[2];
  std::uint64_t buffers[2][2];  ///< where the rank's input and output are
};

/// A tiny part of a message with its flag (call << 32 | history): written and read as one.
struct alignas(16) Cell {
  std::uint64_t payload;
  std::uint64_t flag;
};

/// What a rank found out, in memory that its host reads. `outcome` is written last.
struct Report {
  enum Message : std::uint64_t { none, sent, received };

  std::uint64_t outcome;
  std::uint64_t call;
  std::uint64_t rank;         ///< whom it is about
  std::uint64_t source_step;  ///< ExecStep::source_step of the wait
  std::uint64_t piece;
  std::uint64_t awaited;      ///< how many signals of that lane it waits for
  std::uint64_t seen;
  std::uint64_t message;      ///< whether the call was one
};

/// What a rank's host and its blocks tell one another.
struct HostWords {
  std::uint64_t abort;  ///< not 0: all waits end
  std::uint64_t done;   ///< where ranks take turns: calls that have ended, for which streams wait
  std::uint64_t waiting;  ///< by turns: 1 + the rank that a block of an exchange stopped for; 0: none did
  std::uint64_t moved;    ///< by turns: some block of an exchange came further
  Report report;
};

/// Offsets in a rank's area. All ranks use equal ones.
struct AreaLayout {
  std::uint64_t half_bytes = 0;  ///< staging of one call parity, which a call's slices share; a multiple of 256
  std::uint32_t heads = 1;       ///< RankWords at its beginning: one, or one a slice
  std::uint32_t slices = max_slices;
  std::uint32_t lanes = max_lanes;

  RONDO_HD std::uint64_t lane(std::uint32_t slice, std::uint32_t lane_index) const {
    return std::uint64_t{heads} * sizeof(RankWords) + (std::uint64_t{slice} * lanes + lane_index) * sizeof(LaneWords);
  }
  RONDO_HD std::uint64_t cells(std::uint64_t parity) const {
    return lane(slices, 0) + parity * inline_lines * cells_per_line * sizeof(Cell);
  }
  RONDO_HD std::uint64_t staging(std::uint64_t parity) const { return (cells(2) + 255) / 256 * 256 + parity * half_bytes; }
  RONDO_HD std::uint64_t total_bytes() const { return staging(2); }
};

}  // namespace rondo::device
