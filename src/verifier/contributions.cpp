#include "verifier/contributions.hpp"

#include <algorithm>
#include <numeric>

namespace rondo::verifier {

Contributions::Contributions(const PlanHeader& header)
    : ranks_(header.ranks), order_(header.order), position_(header.ranks) {
  std::iota(position_.begin(), position_.end(), 0u);
  for (std::uint32_t k = 0; k < order_.size() && k < ranks_; ++k) position_[order_[k]] = k;  // of several orders the first
  if (header.collective != Collective::scan) return;
  prefixes_.push_back(single(0));
  for (std::uint32_t rank = 1; rank < ranks_; ++rank) {
    RankSet prefix;
    unite({prefixes_.back(), single(rank)}, prefix);
    prefixes_.push_back(prefix);
  }
}

std::uint32_t Contributions::count(RankSet set) const {
  if (set.length != RankSet::pooled) return set.length;
  std::uint32_t count = 0;
  for (const Segment& segment : *pool_[set.first]) count += segment.end - segment.begin;
  return count;
}

std::optional<RankRun> Contributions::run(RankSet set) const {
  if (set.length == 1) return RankRun{rank_at(set.first), rank_at(set.first) + 1};
  if (set.length == ranks_) return RankRun{0, ranks_};
  if (!order_.empty() || set.length == RankSet::pooled || set.first + set.length > ranks_) return std::nullopt;
  return RankRun{set.first, set.first + set.length};
}

std::string Contributions::describe(RankSet set) const {
  if (set.length == 1) return "rank " + std::to_string(rank_at(set.first));
  if (count(set) == ranks_) return ranks_ == 2 ? "both ranks" : "all " + std::to_string(ranks_) + " ranks";
  return std::to_string(count(set)) + " of " + std::to_string(ranks_) + " ranks";
}

void Contributions::expand(RankSet set) {
  if (set.length == RankSet::pooled) {
    segments_.insert(segments_.end(), pool_[set.first]->begin(), pool_[set.first]->end());
    return;
  }
  const std::uint32_t to_end = ranks_ - set.first;
  segments_.push_back({set.first, set.first + std::min(set.length, to_end)});
  if (set.length > to_end) segments_.push_back({0, set.length - to_end});
}

/// Whether one run ends where the other begins, without overlapping it at its other end.
bool Contributions::meets(RankSet set, RankSet next) const {
  if (set.length == RankSet::pooled || next.length == RankSet::pooled || set.length + next.length > ranks_) return false;
  const std::uint32_t end = set.first + set.length;
  return next.first == (end >= ranks_ ? end - ranks_ : end);
}

std::optional<std::uint32_t> Contributions::unite(const std::vector<RankSet>& sets, RankSet& united) {
  if (sets.size() == 2)
    for (const bool first : {true, false})
      if (const RankSet& before = sets[first ? 0 : 1]; meets(before, sets[first ? 1 : 0])) {
        const std::uint32_t length = sets[0].length + sets[1].length;
        united = length == ranks_ ? all() : RankSet{before.first, length};
        return std::nullopt;
      }
  segments_.clear();
  for (const RankSet& set : sets) expand(set);
  std::sort(segments_.begin(), segments_.end());
  for (std::size_t k = 1; k < segments_.size(); ++k)
    if (segments_[k].begin < segments_[k - 1].end) return rank_at(segments_[k].begin);
  united = compact();
  return std::nullopt;
}

RankSet Contributions::moved(const Shifts& shifts, std::uint32_t by, RankSet set) {
  if (by == 0 || set.length == ranks_) return set;
  if (set.length == 1) return single(shifts.moved_rank(by, rank_at(set.first)));
  if (shifts.rotates() && set.length != RankSet::pooled) return {(set.first + by) % ranks_, set.length};
  segments_.clear();
  expand(set);
  std::vector<Segment> before;
  before.swap(segments_);
  for (const Segment& segment : before)
    for (std::uint32_t position = segment.begin; position < segment.end; ++position) {
      const std::uint32_t to = position_[shifts.moved_rank(by, rank_at(position))];
      segments_.push_back({to, to + 1});
    }
  std::sort(segments_.begin(), segments_.end());
  return compact();
}

/// The set of segments_, which are in order and disjoint.
RankSet Contributions::compact() {
  std::size_t last = 0;
  for (std::size_t k = 1; k < segments_.size(); ++k) {
    if (segments_[k].begin == segments_[last].end)
      segments_[last].end = segments_[k].end;
    else
      segments_[++last] = segments_[k];
  }
  segments_.resize(last + 1);
  const Segment& front = segments_.front();
  const Segment& back = segments_.back();
  if (segments_.size() == 1) return {front.begin, front.end - front.begin};
  if (segments_.size() == 2 && front.begin == 0 && back.end == ranks_)
    return {back.begin, back.end - back.begin + front.end};
  const auto [at, fresh] = numbers_.try_emplace(segments_, static_cast<std::uint32_t>(pool_.size()));
  if (fresh) {
    pool_.push_back(&at->first);
    pooled_segments_ += segments_.size();
    overflowed_ |= pooled_segments_ > max_cells / 2;
  }
  return {at->second, RankSet::pooled};
}

}  // namespace rondo::verifier
