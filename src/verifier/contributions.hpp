// Sets of ranks, exactly, in little memory: positions along header.order that run on without a gap are two numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "verifier/image.hpp"
#include "verifier/shifts.hpp"
#include "verifier/tree.hpp"

namespace rondo::verifier {

/// The positions first, first + 1, ... (round the end), `length` of them; or, with length `pooled`, set number `first`
/// of the pool. Equal sets have equal numbers.
struct RankSet {
  static constexpr std::uint32_t pooled = none;
  std::uint32_t first = 0;
  std::uint32_t length = 0;
  bool operator==(const RankSet&) const = default;
};

class Contributions {
 public:
  explicit Contributions(const PlanHeader& header);

  RankSet single(std::uint32_t rank) const { return {position_[rank], 1}; }
  RankSet all() const { return {0, ranks_}; }
  /// Ranks 0 to `rank`, whatever the order; of a scan alone.
  RankSet up_to(std::uint32_t rank) const { return prefixes_[rank]; }
  std::uint32_t count(RankSet set) const;
  /// The ranks of a set, if they follow one another in the order of their numbers.
  std::optional<RankRun> run(RankSet set) const;
  /// "rank 3", or "5 of 8 ranks".
  std::string describe(RankSet set) const;

  /// Joins disjoint sets into `united`; else says which rank is in two of them.
  std::optional<std::uint32_t> unite(const std::vector<RankSet>& sets, RankSet& united);

  /// Where a shift takes a set.
  RankSet moved(const Shifts& shifts, std::uint32_t by, RankSet set);

  /// The pool has outgrown what the verifier takes; sets are wrong then.
  bool overflowed() const { return overflowed_; }

 private:
  struct Segment {
    std::uint32_t begin;
    std::uint32_t end;
    auto operator<=>(const Segment&) const = default;
  };
  bool meets(RankSet set, RankSet next) const;
  void expand(RankSet set);
  RankSet compact();
  std::uint32_t rank_at(std::uint32_t position) const { return order_.empty() ? position : order_[position]; }

  const std::uint32_t ranks_;
  const std::vector<std::uint32_t>& order_;
  std::vector<std::uint32_t> position_;  // by rank
  std::vector<RankSet> prefixes_;        // of a scan, by rank
  std::vector<Segment> segments_;        // of the union under construction
  std::map<std::vector<Segment>, std::uint32_t> numbers_;
  std::vector<const std::vector<Segment>*> pool_;
  std::uint64_t pooled_segments_ = 0;
  bool overflowed_ = false;
};

}  // namespace rondo::verifier
