#include "verifier/symmetry.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/form.hpp"
#include "verifier/image.hpp"

namespace rondo::verifier {
namespace {

std::uint64_t size_of(const Program& program) {
  std::uint64_t size = 0;
  for (const Lane& lane : program.lanes) size += lane.steps.size();
  return size;
}

/// Holds programs against rank 0's.
class Comparison {
  using Place = std::tuple<Buffer, std::uint32_t, std::uint32_t, std::uint32_t>;

 public:
  Comparison(const PlanHeader& header, const Shifts& shifts, const Program& first)
      : header_(header), shifts_(shifts), first_(first), shift_(shifts, 8 * size_of(first) >= header.ranks) {
    for (const Lane& lane : first.lanes)
      for (const Step& step : lane.steps) {
        note_order(step);
        has_afters_ |= !step.after.empty();
      }
  }

  /// Whether a rank's program is the first one, shifted to that rank.
  bool fits(std::uint32_t rank, const Program& program) {
    rank_ = rank;
    shift_.take(shifts_.element(rank));
    if (program.lanes.size() != first_.lanes.size()) return false;
    for (std::size_t l = 0; l < program.lanes.size(); ++l)
      if (!same_lane(first_.lanes[l].steps, program.lanes[l].steps)) return false;
    return true;
  }

  bool rank_order() const { return rank_order_; }

 private:
  bool same_lane(const std::vector<Step>& from, const std::vector<Step>& to) {
    std::size_t a = 0, b = 0;
    while (a < from.size() && b < to.size())
      if (same_step(from[a], to[b])) {
        ++a;
        ++b;
      } else if (!same_publishing(from, a, to, b)) {
        return false;
      }
    return a == from.size() && b == to.size();
  }

  /// A copy of own input to own scratch: nobody sees it before the signal behind it.
  static bool publishes(const Step& step, std::uint32_t rank, std::uint32_t skew) {
    const auto own = [&](const Operand& operand, Buffer buffer) { return operand.buffer == buffer && (operand.rank == self || operand.rank == rank); };
    return step.kind == StepKind::copy && step.skew == skew && !step.finish && !step.once && step.after.empty() && own(step.sources[0], Buffer::input) &&
           step.destinations.size() == 1 && own(step.destinations[0], Buffer::scratch);
  }

  /// Whether what is published in a row, from here on, is the same chunks in the same places, however they are parted into steps; goes behind them.
  bool same_publishing(const std::vector<Step>& from, std::size_t& a, const std::vector<Step>& to, std::size_t& b) {
    if (has_afters_) return false;  // they name steps by their number
    const std::uint32_t skew = from[a].skew;
    moved_.clear();
    theirs_.clear();
    for (; a < from.size() && publishes(from[a], 0, skew); ++a) note_chunks(from[a], true, moved_);
    for (; b < to.size() && publishes(to[b], rank_, skew); ++b) note_chunks(to[b], false, theirs_);
    std::sort(moved_.begin(), moved_.end());
    std::sort(theirs_.begin(), theirs_.end());
    const auto one_place = [](const Place& x, const Place& y) { return std::get<1>(x) == std::get<1>(y); };
    return !moved_.empty() && moved_ == theirs_ && std::adjacent_find(moved_.begin(), moved_.end(), one_place) == moved_.end();
  }

  void note_chunks(const Step& step, bool shifted, std::vector<Place>& places) const {
    const Operand& source = step.sources[0];
    for (std::uint32_t j = 0; j < source.count; ++j) {
      const std::uint32_t chunk = source.index + j;
      places.emplace_back(Buffer::scratch, step.destinations[0].index + j, shifted ? shift_.moved_chunk(Buffer::input, chunk) : chunk, 1u);
    }
  }

  bool same_step(const Step& from, const Step& to) {
    if (from.once || to.once) return false;
    if (from.kind != to.kind || from.finish != to.finish || from.skew != to.skew || from.after != to.after) return false;
    if (from.kind == StepKind::wait) return same_wait(from.wait, to.wait);
    if (from.kind == StepKind::signal) return true;
    note_order(to);
    return (same_operands(from.sources, to.sources) || (from.kind == StepKind::reduce && same_set(from.sources, to.sources))) &&
           same_operands(from.destinations, to.destinations);
  }

  bool same_wait(const WaitFor& from, const WaitFor& to) const {
    return from.lane == to.lane && from.signal == to.signal && from.lag == to.lag && moved_rank(from.rank) == to.rank;
  }

  bool same_operands(const Operands& from, const Operands& to) const {
    if (from.size() != to.size()) return false;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (!same_operand(from[k], to[k])) return false;
    return true;
  }

  bool same_operand(const Operand& from, const Operand& to) const {
    return from.buffer == to.buffer && from.count == to.count && moved_rank(from.rank) == (to.rank == self ? rank_ : to.rank) &&
           moved_index(from) == to.index && (from.count == 1 || stays_together(from, to.index));
  }

  std::uint32_t moved_rank(std::uint32_t rank) const { return rank == self ? rank_ : shift_.moved_rank(rank); }

  std::uint32_t moved_index(const Operand& operand) const {
    if (operand.buffer == Buffer::scratch) return operand.index;
    if (operand.buffer == Buffer::link) return shift_.moved_channel(operand.index);
    return shift_.moved_chunk(operand.buffer, operand.index);
  }

  /// A range stays a range, in its order.
  bool stays_together(const Operand& operand, std::uint32_t index) const {
    if (operand.buffer == Buffer::scratch || operand.buffer == Buffer::link) return true;
    for (std::uint32_t j = 1; j < operand.count; ++j)
      if (shift_.moved_chunk(operand.buffer, operand.index + j) != index + j) return false;
    return true;
  }

  bool same_set(const Operands& from, const Operands& to) {
    if (from.size() != to.size()) return false;
    moved_.clear();
    theirs_.clear();
    for (const Operand& operand : from) {
      const std::uint32_t index = moved_index(operand);
      if (!stays_together(operand, index)) return false;
      moved_.emplace_back(operand.buffer, moved_rank(operand.rank), index, operand.count);
    }
    for (const Operand& operand : to) theirs_.emplace_back(operand.buffer, operand.rank == self ? rank_ : operand.rank, operand.index, operand.count);
    std::sort(moved_.begin(), moved_.end());
    std::sort(theirs_.begin(), theirs_.end());
    return moved_ == theirs_;
  }

  void note_order(const Step& step) {
    if (step.kind != StepKind::reduce || !rank_order_) return;
    rank_order_ = step.sources.size() == header_.ranks;
    for (std::uint32_t k = 0; k < step.sources.size() && rank_order_; ++k) {
      const Operand& source = step.sources[k];
      rank_order_ = source.buffer != Buffer::link && (source.rank == self ? rank_ : source.rank) == k;
    }
  }

  const PlanHeader& header_;
  const Shifts& shifts_;
  const Program& first_;
  std::uint32_t rank_ = 0;  // whose program is looked at
  OneShift shift_;
  bool rank_order_ = true;
  bool has_afters_ = false;
  std::vector<Place> moved_;
  std::vector<Place> theirs_;
};

/// Promises that are the same for all ranks, seen from each.
bool is_even(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter || collective == Collective::all_gather ||
         collective == Collective::all_to_all || collective == Collective::all_to_all_v || collective == Collective::barrier;
}

/// The groups that may fit a plan.
std::vector<Shifts> candidates(const PlanHeader& header) {
  const bool chosen = header.collective == Collective::all_reduce;  // whose chunks belong to nobody
  std::vector<ShiftGroup> groups{ShiftGroup::rotation};
  if (header.groups.size() == 1) groups.push_back(ShiftGroup::nested);
  if (header.ranks % 2 == 0) groups.push_back(ShiftGroup::reflection);
  std::vector<Shifts> made;
  for (const ShiftGroup group : groups)
    for (const bool chunks : {true, false}) {
      if (chunks ? chosen && header.chunks_per_block % header.ranks != 0 : !chosen) continue;
      for (const bool channels : {false, true}) made.emplace_back(header, group, ShiftedNames{chunks, channels});
    }
  return made;
}

bool is_of_good_form(const PlanHeader& header, const Program& program) {
  plan::ProgramChecks checks(header, Form::whole);
  return checks.add(program) && checks.end_alike();
}

}  // namespace

std::optional<Symmetry> find_symmetry(const Plan& plan) {
  const PlanHeader& header = plan.header;
  if (!plan::check_header(plan) || header.ranks < 2 || !is_even(header.collective)) return std::nullopt;
  Program first = plan.program(0);
  if (size_of(first) > max_steps / header.ranks || !is_of_good_form(header, first)) return std::nullopt;  // shifts take ranks that there are
  const Program second = plan.program(1);
  for (Shifts& shifts : candidates(header)) {
    Comparison comparison(header, shifts, first);
    if (!comparison.fits(1, second)) continue;
    bool all = true;
    for (std::uint32_t rank = 2; rank < header.ranks && all; ++rank) all = comparison.fits(rank, plan.program(rank));
    if (!all) continue;
    return Symmetry{std::move(shifts), std::move(first), comparison.rank_order()};
  }
  return std::nullopt;
}

}  // namespace rondo::verifier
