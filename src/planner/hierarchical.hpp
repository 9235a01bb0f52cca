// Groups of ranks that lie in larger groups (header.groups): a rank's place among them, and the programs that follow them (algorithm_hierarchical.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/steps.hpp"

namespace rondo::planner {

/// One rank among the groups; level 0 is that inside the smallest ones. Positions are places along header.order. Keeps a reference to the header.
class Place {
 public:
  Place(const PlanHeader& header, std::uint32_t rank) : header_(header), position_(position_of(header, rank)) {}

  std::uint32_t levels() const { return static_cast<std::uint32_t>(header_.groups.size()) + 1; }
  std::uint32_t at(std::uint32_t position) const { return rank_at(header_, position); }
  /// Ranks of a group of level `level`'s members: 1, then header.groups, and all ranks for one level more than there are.
  std::uint32_t unit(std::uint32_t level) const { return level == 0 ? 1 : level == levels() ? header_.ranks : header_.groups[level - 1]; }
  std::uint32_t fellows(std::uint32_t level) const { return unit(level + 1) / unit(level); }  ///< of a level, the rank itself included
  std::uint32_t number(std::uint32_t level) const { return position_ / unit(level) % fellows(level); }  ///< the rank's own among them
  std::uint32_t fellow(std::uint32_t level, std::uint32_t of) const { return at(position_ - number(level) * unit(level) + of * unit(level)); }
  std::uint32_t others(std::uint32_t level, std::uint32_t k) const { return (number(level) + k) % fellows(level); }  ///< all but itself: 1 ≤ k < fellows
  std::uint32_t first(std::uint32_t level) const { return position_ - position_ % unit(level); }  ///< position of the own group of unit(level)

  /// Positions that are the rank's own place in all groups of unit(level).
  std::vector<std::uint32_t> column(std::uint32_t level) const {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t position = position_ % unit(level); position < header_.ranks; position += unit(level)) positions.push_back(position);
    return positions;
  }
  /// The rank of this rank's group of unit(level) that is in `other`'s place.
  std::uint32_t counterpart(std::uint32_t level, const Place& other) const { return at(first(level) + other.position_ % unit(level)); }
  bool shares_group(std::uint32_t level, const Place& other) const { return position_ / unit(level) == other.position_ / unit(level); }

  /// In each group of any level the rank that is in the root's place leads. The largest such group of this rank is of unit(leads(root)).
  std::uint32_t leads(const Place& root) const {
    std::uint32_t level = 0;
    while (level < levels() && position_ % unit(level + 1) == root.position_ % unit(level + 1)) ++level;
    return level;
  }

 private:
  const PlanHeader& header_;
  std::uint32_t position_;
};

/// For each fellow of a level but the rank itself, the nearest behind it first.
template <class Visitor>
void for_fellows(const Place& place, std::uint32_t level, Visitor&& visit) {
  for (std::uint32_t k = 1; k < place.fellows(level); ++k) visit(place.fellow(level, place.others(level, k)));
}

/// The programs.
namespace hierarchical {

// hierarchical_reductions.cpp
Program reduce_and_gather(const PlanHeader& header, std::uint32_t rank);  ///< all_reduce, reduce
Program reduce_scatter(const PlanHeader& header, std::uint32_t rank);
Program scan(const PlanHeader& header, std::uint32_t rank);

// hierarchical_moves.cpp
Program broadcast(const PlanHeader& header, std::uint32_t rank);
Program all_gather(const PlanHeader& header, std::uint32_t rank);
Program gather(const PlanHeader& header, std::uint32_t rank);
Program scatter(const PlanHeader& header, std::uint32_t rank);
Program barrier(const PlanHeader& header, std::uint32_t rank);

}  // namespace hierarchical
}  // namespace rondo::planner
