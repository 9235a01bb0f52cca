// What a block waits for, and what ends its waits: a word that a peer raises; or the host, a peer that has failed, this rank's other blocks, time.
#pragma once

#include <cstdint>

#include "device/job.hpp"
#include "device/shared.hpp"
#include "kernels/cuda/host_device.hpp"

namespace rondo::device {

template <class Block>
class Watch {
 public:
  RONDO_HD Watch(Block& block, const Job& job, std::uint32_t slice) : block_(block), shared_(block.shared()), job_(job), slice_(slice) {}

 protected:
  /// Of the rank's calls; those of a pair are this slice's.
  RONDO_HD RankWords& words(std::uint32_t rank) const {
    return reinterpret_cast<RankWords*>(job_.group.areas[rank])[job_.group.is_pair ? slice_ : 0];
  }
  RONDO_HD std::uint64_t* state(std::uint32_t rank) const { return job_.group.is_pair ? job_.group.pair.states[rank] : &words(rank).state; }
  RONDO_HD LaneWords& line(std::uint32_t rank, std::uint32_t lane) const {
    return *reinterpret_cast<LaneWords*>(job_.group.areas[rank] + job_.group.layout.lane(slice_, lane));
  }

  /// Until `word` has reached `target`, or this rank's calls end, for which it then says why.
  RONDO_HD bool poll(const std::uint64_t* word, std::uint64_t target, std::uint32_t rank, std::uint64_t source_step, std::uint64_t piece) {
    std::uint64_t since = 0;
    for (std::uint32_t spin = 0;; ++spin) {
      // pairs with signal(), or with enter() of that rank
      const std::uint64_t seen = block_.load_acquire(word);
      if (static_cast<std::int64_t>(seen - target) >= 0) return true;  // a difference, so that numbers may wrap
      if (job_.stops) {
        (void)goes_on(since, rank, source_step, piece, target, seen);
        return false;
      }
      if (spin % looks == looks - 1 && !goes_on(since, rank, source_step, piece, target, seen)) return false;
      block_.relax(spin);
    }
  }

  /// Until a cell has this call's flag; its payload then.
  RONDO_HD bool poll_cell(const Cell* cell, std::uint64_t& payload, std::uint32_t rank, std::uint64_t source_step) {
    std::uint64_t since = 0;
    for (std::uint32_t spin = 0;; ++spin) {
      // pairs with give_out()
      const Cell seen = block_.load_cell(cell);
      payload = seen.payload;
      if (seen.flag == shared_.flag) return true;
      if (seen.flag >> 32 == (call_ & 0xffffffff) && seen.flag != 0) return fail(Outcome::mismatch, rank, source_step, 0, shared_.flag, seen.flag);
      if (spin % looks == looks - 1 && !goes_on(since, rank, source_step, 0, shared_.flag, seen.flag)) return false;
      block_.relax(spin);
    }
  }

  RONDO_HD bool goes_on(std::uint64_t& since, std::uint32_t rank, std::uint64_t source_step, std::uint64_t piece, std::uint64_t target,
                        std::uint64_t seen) {
    const Group& group = job_.group;
    if (block_.load_relaxed(state(group.rank)) != 0) return false;  // another block of this rank has said why
    const std::uint64_t now = block_.now_ns();
    if (since == 0) since = now;
    if (block_.load_relaxed(&group.host->abort) != 0) return fail(Outcome::aborted, group.rank, source_step, piece, target, seen);
    if (block_.load_relaxed(state(rank)) != 0) return fail(Outcome::peer_failed, rank, source_step, piece, target, seen);
    if (now - since > group.timeout_ns) return fail(Outcome::deadline_exceeded, rank, source_step, piece, target, seen);
    return true;
  }

  /// The first to find something out says it for all.
  RONDO_HD bool fail(Outcome outcome, std::uint32_t rank, std::uint64_t source_step, std::uint64_t piece, std::uint64_t target, std::uint64_t seen) {
    const Group& group = job_.group;
    if (!block_.claim(state(group.rank), static_cast<std::uint64_t>(outcome))) return false;
    Report& report = group.host->report;
    report.call = call_;
    report.rank = group.is_pair ? group.pair.ranks[rank] : rank;
    report.message = group.is_pair ? group.rank == 0 ? Report::sent : Report::received : Report::none;
    report.source_step = source_step;
    report.piece = piece;
    report.awaited = target;
    report.seen = seen;
    block_.tell_host(&report.outcome, static_cast<std::uint64_t>(outcome));
    return false;
  }

  static constexpr std::uint32_t looks = 256;  // at a word, until it looks around

  Block& block_;
  Shared& shared_;
  const Job& job_;
  const std::uint32_t slice_;
  std::uint64_t call_ = 0;
};

}  // namespace rondo::device
