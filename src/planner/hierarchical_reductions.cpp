// What is combined along groups: inside the smallest ones first, then a level further out with what is left.
#include <algorithm>

#include "planner/hierarchical.hpp"

namespace rondo::planner::hierarchical {
namespace {

void wait_for_fellows(const Place& place, std::uint32_t level, std::uint32_t signal, LaneBuilder& lane) {
  for_fellows(place, level, [&](std::uint32_t fellow) { lane.wait(fellow, signal); });
}

/// `count` chunks of what the fellows have: contributions at first, the own ones from the input, then what groups have combined.
Operands of_fellows(const Place& place, std::uint32_t level, std::uint32_t first, std::uint32_t count) {
  Operands sources;
  sources.reserve(place.fellows(level));
  for (std::uint32_t of = 0; of < place.fellows(level); ++of) {
    if (of != place.number(level)) sources.push_back(scratch_of(place.fellow(level, of), first, count));
    else sources.push_back(level == 0 ? input(first, count) : scratch(first, count));
  }
  return sources;
}

/// Chunks of the message that a rank still has to do with: all of them, then its share among its fellows of each level.
struct Span {
  std::uint32_t first = 0, count = 0;
  Span share(const Place& place, std::uint32_t level, std::uint32_t of) const {
    const std::uint32_t part = count / place.fellows(level);
    return {first + of * part, part};
  }
};

/// Whose chunk of the result goes where: the user's, and to whom it is handed on.
Operands both(bool to_output, bool to_scratch, const Span& span) {
  Operands to;
  if (to_output) to.push_back(output(span.first, span.count));
  if (to_scratch) to.push_back(scratch(span.first, span.count));
  return to;
}

}  // namespace

/// A rank publishes piece t in turn t, and each level of either way is a turn later: 2 L turns for L levels. Signal s says that s levels are combined,
/// signal L + s that s levels are gathered. With 2 L + 1 slots nobody asks whether one is free: who combines piece i at the first level has seen those
/// who read it last publish piece i, so they had done with piece i − 2 L − 1.
Program reduce_and_gather(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  const Place root(header, header.root);
  const bool all = header.collective == Collective::all_reduce;
  const bool keeps = has_output(header, rank);
  const std::uint32_t levels = place.levels();
  std::vector<Span> spans{{0, header.ranks}};
  for (std::uint32_t level = 0; level < levels; ++level) spans.push_back(spans.back().share(place, level, place.number(level)));
  LaneBuilder lane;
  const std::uint32_t behind = spans[1].first + spans[1].count;
  if (spans[1].first != 0) lane.copy(input(0, spans[1].first), {scratch(0, spans[1].first)});
  if (behind != header.ranks) lane.copy(input(behind, header.ranks - behind), {scratch(behind, header.ranks - behind)});
  lane.signal();
  for (std::uint32_t level = 0; level < levels; ++level) {
    const Span span = spans[level + 1];
    const bool last = level + 1 == levels;
    ++lane.skew;
    wait_for_fellows(place, level, level, lane);
    lane.reduce(of_fellows(place, level, span.first, span.count), both(last && keeps, !last || all || !keeps, span), last);
    lane.signal();
  }
  for (std::uint32_t level = levels; level-- > 0;) {
    if (!all && !place.shares_group(level, root)) break;
    ++lane.skew;
    const std::uint32_t signal = 2 * levels - 1 - level;
    for (std::uint32_t k = 1; k < place.fellows(level); ++k) {
      const std::uint32_t of = place.others(level, k);
      const Span span = spans[level].share(place, level, of);
      lane.wait(place.fellow(level, of), signal);
      lane.copy(scratch_of(place.fellow(level, of), span.first, span.count), both(keeps, level != 0 && (all || !keeps), span));
    }
    if (level != 0) lane.signal();
  }
  return lane.take_program();
}

/// Chunks are the ranks' blocks. The own column's aren't published: nobody else of the group combines them.
Program reduce_scatter(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  LaneBuilder lane;
  std::vector<std::uint32_t> kept = place.column(1);
  for (std::uint32_t& position : kept) position = place.at(position);
  std::sort(kept.begin(), kept.end());
  kept.push_back(header.ranks);
  std::uint32_t first = 0;
  for (const std::uint32_t next : kept) {
    if (next > first) lane.copy(input(first, next - first), {scratch(first, next - first)});
    first = next + 1;
  }
  lane.signal();
  for (std::uint32_t level = 0; level < place.levels(); ++level) {
    const bool last = level + 1 == place.levels();
    ++lane.skew;
    wait_for_fellows(place, level, level, lane);
    for (const std::uint32_t position : place.column(level + 1)) {
      const std::uint32_t block = place.at(position);
      lane.reduce(of_fellows(place, level, block, 1), {last ? output(0) : scratch(block)}, last);
    }
    if (!last) lane.signal();
  }
  return lane.take_program();
}

namespace {

/// Groups are runs of ranks here, and a rank hears from those before it alone: of its own group each, of those beside it the last rank, which has combined
/// all of its group. So everybody tells one chunk, to those behind it in the group that is one larger than those in which it comes last, and each turn of a
/// rank runs while those behind are in an earlier one.
class ScanPlace {
 public:
  ScanPlace(const PlanHeader& header, std::uint32_t rank) : place_(header, rank) {
    while (tells_ < place_.levels() && place_.number(tells_) + 1 == place_.fellows(tells_)) ++tells_;
    for (std::uint32_t level = 0; level < place_.levels(); ++level)
      if (place_.number(level) != 0) hears_ = level + 1;
  }

  std::uint32_t hears() const { return hears_; }  ///< one more than the outermost level at which it hears from others; 0: from nobody
  std::uint32_t tells() const { return tells_; }  ///< the level at which others hear from it; all levels: nobody does
  bool tells_any() const { return tells_ != place_.levels(); }
  std::uint32_t done() const { return tells_any() ? 1 : 0; }  ///< its signal that says that it has heard

  /// Calls `visit(rank)` for those whom it tells.
  template <class Visitor>
  void for_told(Visitor&& visit) const {
    if (!tells_any()) return;
    const std::uint32_t end = place_.first(tells_ + 1) + place_.unit(tells_ + 1);
    for (std::uint32_t position = place_.first(tells_) + place_.unit(tells_); position < end; ++position) visit(place_.at(position));
  }
  /// Calls `visit(rank)` for those from whom it hears at a level, in their order.
  template <class Visitor>
  void for_heard(std::uint32_t level, Visitor&& visit) const {
    for (std::uint32_t of = 1; of <= place_.number(level); ++of) visit(place_.at(place_.first(level + 1) + of * place_.unit(level) - 1));
  }

 private:
  Place place_;
  std::uint32_t tells_ = 0, hears_ = 0;
};

}  // namespace

Program scan(const PlanHeader& header, std::uint32_t rank) {
  const ScanPlace place(header, rank);
  LaneBuilder lane;
  place.for_told([&](std::uint32_t reader) { lane.wait(reader, ScanPlace(header, reader).done(), header.depth); });
  if (place.tells() == 0) {
    lane.copy(input(0), {scratch(0)});
    lane.signal();
  }
  Operand combined = input(0);
  for (std::uint32_t level = 0; level < place.hears(); ++level) {
    Operands sources;
    place.for_heard(level, [&](std::uint32_t from) {
      lane.wait(from, 0);
      sources.push_back(scratch_of(from, 0));
    });
    if (sources.empty()) continue;
    sources.push_back(combined);
    const bool told = place.tells_any() && place.tells() == level + 1, last = place.hears() == level + 1;
    combined = told ? scratch(0) : output(0);
    lane.reduce(std::move(sources), {combined}, last && !told);
    if (told) lane.signal();
    if (told && last) lane.copy(scratch(0), {output(0)}, true);
  }
  if (place.hears() == 0) lane.copy(input(0), {output(0)}, true);
  else lane.signal();
  return lane.take_program();
}

}  // namespace rondo::planner::hierarchical
