// The programs' part of check_form: lanes, steps and operands.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "plan/form.hpp"
#include "plan/limits.hpp"

namespace rondo::plan {
namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

Error invalid(const std::string& detail) {
  return Error{Errc::invalid_plan, detail, 0, "check_form"};
}

Error fail_at(std::uint32_t rank, std::uint32_t lane, std::uint32_t step, const std::string& what) {
  return invalid("rank " + text(rank) + ", lane " + text(lane) + ", step " + text(step) + ": " + what);
}

/// One rank's program. Collects what it waits for.
class ProgramForm {
 public:
  ProgramForm(const PlanHeader& header, std::uint32_t rank, const Program& program, Form form, std::vector<PlacedWait>& waits, std::vector<PlacedOnce>& onces)
      : header_(header), rank_(rank), program_(program), form_(form), waits_(waits), onces_(onces) {}

  Result<void> check() {
    if (program_.lanes.size() > plan::max_lanes)
      return invalid("rank " + text(rank_) + ": " + text(program_.lanes.size()) + " lanes, at most " +
                     text(plan::max_lanes) + " are served");
    for (lane_ = 0; lane_ < program_.lanes.size(); ++lane_) {
      const std::vector<Step>& steps = program_.lanes[lane_].steps;
      for (step_ = 0; step_ < steps.size(); ++step_)
        if (auto fine = check_step(steps[step_]); !fine) return fine;
    }
    return {};
  }

 private:
  Error fail(const std::string& what) const { return fail_at(rank_, lane_, step_, what); }

  bool inlined() const { return header_.protocol == Protocol::inlined; }

  Result<void> check_step(const Step& step) {
    if (step.skew > plan::max_skew) return fail("skew " + text(step.skew) + ", at most " + text(plan::max_skew));
    if (inlined() && step.skew != 0) return fail("skew in an inlined plan, which has one piece");
    for (const After& after : step.after)
      if (auto fine = check_after(after); !fine) return fine;
    if (step.once)
      if (auto fine = check_once(step); !fine) return fine;
    if (step.kind == StepKind::copy || step.kind == StepKind::reduce) return check_move(step);
    if (step.kind != StepKind::signal && step.kind != StepKind::wait) return fail("a step of no known kind");
    const auto kind = [&] { return std::string(to_string(step.kind)); };
    if (!step.sources.empty() || !step.destinations.empty()) return fail("a " + kind() + " has no operands");
    if (step.finish) return fail("a " + kind() + " finishes no value");
    if (header_.collective == Collective::all_to_all_v && header_.neutral) return fail("in all_to_all_v links order everything, not a " + kind());
    return step.kind == StepKind::wait ? check_wait(step.wait) : Result<void>();
  }

  Result<void> check_after(const After& after) const {
    const std::string what = "after lane " + text(after.lane) + ", step " + text(after.step) + ": ";
    if (inlined()) return fail(what + "an inlined plan can't order its lanes");
    if (!header_.neutral) return fail(what + "the header says that the plan is not neutral");
    if (after.lane == lane_) return fail(what + "that is its own lane");
    if (after.lane >= program_.lanes.size()) return fail(what + "there is no such lane");
    if (after.step >= program_.lanes[after.lane].steps.size()) return fail(what + "there is no such step");
    return {};
  }

  Result<void> check_once(const Step& step) {
    const std::string what = "word " + text(step.once->index) + " of rank " + text(step.once->rank) + ": ";
    const bool copies = step.kind == StepKind::copy && step.sources.size() == 1 && step.destinations.size() == 1 && !step.finish && step.after.empty();
    if (!copies) return fail(what + "what is done once is a copy to one destination, which finishes nothing and comes after no step");
    if (header_.protocol != Protocol::direct || header_.collective == Collective::all_to_all_v)
      return fail(what + "protocol direct alone has copies that several ranks can make, and all_to_all_v none");
    if (header_.neutral) return fail(what + "the header says that the plan is neutral");
    if (step.once->rank >= header_.ranks) return fail(what + "there are " + text(header_.ranks) + " ranks");
    if (step.once->index >= plan::max_once) return fail(what + "a rank has " + text(plan::max_once));
    PlacedOnce placed{*step.once, rank_, lane_, step_, step.sources[0], step.destinations[0]};
    for (Operand* operand : {&placed.source, &placed.destination}) {
      if (operand->buffer == Buffer::link) return fail(what + "a message is sent by its sender, and received by its receiver");
      if (operand->rank == self) operand->rank = rank_;
    }
    onces_.push_back(placed);
    return {};
  }

  Result<void> check_wait(const WaitFor& wait) {
    if (wait.lag > plan::max_lag) return fail("lag " + text(wait.lag) + ", at most " + text(plan::max_lag));
    if (wait.rank >= header_.ranks) return fail("waits for rank " + text(wait.rank) + " of " + text(header_.ranks));
    if (wait.rank == rank_ && wait.lane == lane_) return fail("waits for its own lane");
    if (wait.rank == rank_ && inlined()) return fail("an inlined plan can't order its lanes");
    waits_.push_back({rank_, lane_, step_, wait});
    return {};
  }

  Result<void> check_move(const Step& step) {
    const bool copies = step.kind == StepKind::copy;
    if (copies && step.sources.size() != 1) return fail("a copy has one source, not " + text(step.sources.size()));
    if (step.sources.empty()) return fail("a " + std::string(to_string(step.kind)) + " has no source");
    if (!copies && step.sources.size() < 2 && form_ == Form::whole)
      return fail("a reduce has two or more sources, not " + text(step.sources.size()));
    if (step.destinations.empty()) return fail("it has no destination");
    if (std::max(step.sources.size(), step.destinations.size()) > plan::max_operands)
      return fail("more than " + text(plan::max_operands) + " operands on a side");
    for (const auto* operands : {&step.sources, &step.destinations})
      for (const Operand& operand : *operands) {
        if (operand.count != step.sources[0].count)
          return fail("operands of " + text(step.sources[0].count) + " and " + text(operand.count) + " chunks");
        if (auto fine = check_operand(operand, operands == &step.destinations); !fine) return fine;
      }
    if (header_.collective == Collective::all_to_all_v && header_.neutral)
      if (auto fine = check_block(step); !fine) return fine;
    return check_overlaps(step);
  }

  /// Blocks of unknown lengths: a step moves one of them, over a link of the pair that it belongs to (0007-variable-blocks.md).
  Result<void> check_block(const Step& step) const {
    const Operand& from = step.sources.front();
    const Operand& to = step.destinations.front();
    const bool one = step.kind == StepKind::copy && step.destinations.size() == 1 && from.count == 1 && header_.chunks_per_block == 1;
    const bool sends = from.buffer == Buffer::input && to.buffer == Buffer::link && from.index == to.rank;
    const bool receives = from.buffer == Buffer::link && to.buffer == Buffer::output && to.index == from.rank;
    const bool keeps = from.buffer == Buffer::input && to.buffer == Buffer::output && from.index == rank_ && to.index == rank_;
    if (one && step.after.empty() && (sends || receives || keeps)) return {};
    return fail("in all_to_all_v a step copies one block: input[R] to a link to rank R, a link from rank R to output[R], or the rank's own");
  }

  Result<void> check_operand(const Operand& operand, bool destination) {
    if (operand.count == 0) return fail("an operand of 0 chunks");
    if (operand.buffer == Buffer::link) return check_link(operand, destination);
    const auto name = [&] { return std::string(to_string(operand.buffer)); };
    if (operand.rank != self && operand.rank >= header_.ranks)
      return fail(name() + " of rank " + text(operand.rank) + ", there are " + text(header_.ranks));
    const std::uint32_t owner = operand.rank == self ? rank_ : operand.rank;
    std::uint64_t chunks = header_.scratch_chunks;
    if (operand.buffer == Buffer::scratch) {
      if (inlined() && destination) {
        if (auto fine = check_inlined_write(operand, owner); !fine) return fine;
      }
    } else {
      const bool input = operand.buffer == Buffer::input;
      if (!input && operand.buffer != Buffer::output) return fail("an operand in no known buffer");
      if (input && destination) return fail("input is a destination; it is never written");
      if (owner != rank_ && header_.protocol != Protocol::direct)
        return fail(name() + " of rank " + text(owner) + ", which protocol direct alone may touch");
      const bool exists = input ? has_input(header_, owner) : has_output(header_, owner);
      if (!exists) return fail("rank " + text(owner) + " has no " + name());
      chunks = input ? inputs_ : outputs_;
    }
    if (std::uint64_t{operand.index} + operand.count > chunks)
      return fail("chunks " + text(operand.index) + " to " + text(std::uint64_t{operand.index} + operand.count - 1) +
                  " of " + name() + ", which has " + text(chunks));
    return {};
  }

  /// Inline lines are raised once a call, by their owner; there is nothing that could order a second write.
  Result<void> check_inlined_write(const Operand& operand, std::uint32_t owner) {
    if (owner != rank_) return fail("writes scratch of rank " + text(owner) + " in an inlined plan");
    if (std::uint64_t{operand.index} + operand.count > header_.scratch_chunks) return {};  // the range check's matter
    for (std::uint32_t chunk = operand.index; chunk < operand.index + operand.count; ++chunk)
      if (!inlined_writes_.insert(chunk).second)
        return fail("writes scratch[" + text(chunk) + "] again in an inlined plan");
    return {};
  }

  Result<void> check_link(const Operand& operand, bool destination) {
    const auto name = [&] { return "link(" + text(operand.rank) + "," + text(operand.index) + ")"; };
    if (inlined()) return fail("a link in an inlined plan");
    if (!header_.neutral) return fail(name() + ": the header says that the plan is not neutral");
    if (operand.rank >= header_.ranks || operand.rank == rank_) return fail(name() + ": its rank is no other rank");
    if (operand.count > std::max({inputs_, outputs_, header_.scratch_chunks}))
      return fail(name() + ": a message of " + text(operand.count) + " chunks, more than any buffer has");
    if (program_.lanes.size() == 1) return {};
    const auto [end, fresh] = link_lanes_.try_emplace({destination, operand.rank, operand.index}, lane_);
    if (end->second != lane_)
      return fail(name() + " is used in this direction by lane " + text(end->second) +
                  " too; messages would have no order");
    return {};
  }

  /// Where an operand lies: input and output are one memory in place, so that they share numbers there.
  struct Extent {
    int memory;
    std::uint32_t owner;
    std::uint64_t begin;
    std::uint64_t end;
  };

  struct Placed {
    Extent extent;
    bool destination;
  };

  Extent extent(const Operand& operand, bool in_place) const {
    const std::uint32_t owner = operand.rank == self ? rank_ : operand.rank;
    Extent extent{static_cast<int>(operand.buffer), owner, operand.index, std::uint64_t{operand.index} + operand.count};
    if (!in_place || operand.buffer == Buffer::scratch || operand.buffer == Buffer::link) return extent;
    extent.memory = 0;
    const bool inner = operand.buffer == Buffer::input ? input_is_block(header_.collective) : output_is_block(header_.collective);
    if (inner) {
      extent.begin += std::uint64_t{owner} * header_.chunks_per_block;
      extent.end += std::uint64_t{owner} * header_.chunks_per_block;
    }
    return extent;
  }

  Result<void> check_overlaps(const Step& step) {
    extents_.clear();
    for (const auto* operands : {&step.sources, &step.destinations})
      for (const Operand& operand : *operands)
        extents_.push_back({extent(operand, header_.in_place), operands == &step.destinations});
    constexpr std::size_t few = 4;
    return extents_.size() <= few ? check_all_pairs() : check_neighbours();
  }

  Result<void> check_all_pairs() const {
    for (std::size_t b = extents_.size(); b-- > 1;)
      for (std::size_t a = b; a-- > 0;) {
        const bool in_order = extents_[a].extent.begin <= extents_[b].extent.begin;
        if (auto fine = check_pair(extents_[in_order ? a : b], extents_[in_order ? b : a]); !fine) return fine;
      }
    return {};
  }

  Result<void> check_neighbours() {
    std::sort(extents_.begin(), extents_.end(), [](const Placed& a, const Placed& b) {
      const auto key = [](const Placed& p) {
        return std::tuple(p.extent.memory, p.extent.owner, p.extent.begin, p.destination);
      };
      return key(a) < key(b);
    });
    const Placed* below = nullptr;  // the last one that begins before the current one
    for (std::size_t k = 1; k < extents_.size(); ++k) {
      if (extents_[k].extent.begin != extents_[k - 1].extent.begin) below = &extents_[k - 1];
      if (auto fine = check_pair(extents_[k - 1], extents_[k]); !fine) return fine;
      if (below == nullptr) continue;
      if (auto fine = check_pair(*below, extents_[k]); !fine) return fine;
    }
    return {};
  }

  // All operands of a step have one length, so that an extent which overlaps any other overlaps a neighbour.
  Result<void> check_pair(const Placed& a, const Placed& b) const {
    if (a.extent.memory != b.extent.memory || a.extent.owner != b.extent.owner) return {};
    if (a.extent.memory == static_cast<int>(Buffer::link)) {
      const bool twice = a.extent.begin == b.extent.begin && a.destination == b.destination;
      return twice ? fail("a link occurs twice on one side of a step") : Result<void>();
    }
    if (b.extent.begin >= a.extent.end || (!a.destination && !b.destination)) return {};
    if (a.destination && b.destination) return fail("two destinations overlap");
    if (a.extent.begin != b.extent.begin) return fail("a destination overlaps a source in part");
    return {};
  }

  const PlanHeader& header_;
  const std::uint32_t rank_;
  const Program& program_;
  const Form form_;
  const std::uint32_t inputs_ = input_chunks(header_);
  const std::uint32_t outputs_ = output_chunks(header_);
  std::uint32_t lane_ = 0;
  std::uint32_t step_ = 0;
  std::vector<Placed> extents_;  // of the step that is looked at
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, std::uint32_t> link_lanes_;  // end of a link → its lane
  std::set<std::uint32_t> inlined_writes_;
  std::vector<PlacedWait>& waits_;
  std::vector<PlacedOnce>& onces_;
};

}  // namespace

Result<void> ProgramChecks::add(const Program& program) {
  const auto rank = static_cast<std::uint32_t>(first_.size() - 1);
  count_signals(program);
  const std::size_t before = waits_.size();
  if (auto fine = ProgramForm(header_, rank, program, form_, waits_, onces_).check(); !fine) return fine;
  auto later = waits_.begin() + static_cast<std::ptrdiff_t>(before);
  for (auto at = later; at != waits_.end(); ++at) {
    if (at->wait.rank > rank)
      *later++ = *at;
    else if (auto fine = check_target(*at, at->wait.rank); !fine)
      return fine;
  }
  waits_.erase(later, waits_.end());
  return {};
}

Result<void> ProgramChecks::end() {
  for (const PlacedWait& placed : waits_)
    if (auto fine = check_target(placed, placed.wait.rank); !fine) return fine;
  return form_ == Form::runnable ? Result<void>() : check_shared_out();
}

/// Of each word: all mean one copy, each rank once, and its owner is among them.
Result<void> ProgramChecks::check_shared_out() {
  const auto word = [](const PlacedOnce& placed) { return std::pair(placed.word.rank, placed.word.index); };
  std::stable_sort(onces_.begin(), onces_.end(), [&](const PlacedOnce& a, const PlacedOnce& b) { return word(a) < word(b); });
  bool owned = false;
  for (std::size_t k = 0; k < onces_.size(); ++k) {
    const PlacedOnce& placed = onces_[k];
    const auto fail = [&](const std::string& what) {
      return fail_at(placed.rank, placed.lane, placed.step, "word " + text(placed.word.index) + " of rank " + text(placed.word.rank) + ": " + what);
    };
    const bool first = k == 0 || word(onces_[k - 1]) != word(placed);
    if (!first && onces_[k - 1].rank == placed.rank) return fail("a rank names it once");
    if (!first && !(onces_[k - 1].source == placed.source && onces_[k - 1].destination == placed.destination))
      return fail("rank " + text(onces_[k - 1].rank) + " has another copy by it");
    owned = placed.word.rank == placed.rank || (owned && !first);
    const bool last = k + 1 == onces_.size() || word(onces_[k + 1]) != word(placed);
    if (last && !owned) return fail("that rank has no such step");
  }
  return {};
}

Result<void> ProgramChecks::end_alike() const {
  if (!onces_.empty()) return fail_at(onces_[0].rank, onces_[0].lane, onces_[0].step, "copies that are shared out are never alike on all ranks");
  for (const PlacedWait& placed : waits_)
    if (auto fine = check_target(placed, 0); !fine) return fine;
  return {};
}

void ProgramChecks::count_signals(const Program& program) {
  for (const Lane& lane : program.lanes) {
    const auto is_signal = [](const Step& step) { return step.kind == StepKind::signal; };
    signals_.push_back(static_cast<std::uint32_t>(std::count_if(lane.steps.begin(), lane.steps.end(), is_signal)));
  }
  first_.push_back(signals_.size());
}

/// As if `rank` were the rank that is waited for.
Result<void> ProgramChecks::check_target(const PlacedWait& placed, std::uint32_t rank) const {
  const WaitFor& wait = placed.wait;
  const auto where = [&] { return "waits for lane " + text(wait.lane) + " of rank " + text(wait.rank); };
  const std::size_t lanes = first_[rank + 1] - first_[rank];
  if (wait.lane >= lanes) return fail_at(placed.rank, placed.lane, placed.step, where() + ", which has no such lane");
  const std::uint32_t signals = signals_[first_[rank] + wait.lane];
  if (wait.signal < signals || form_ == Form::runnable) return {};
  return fail_at(placed.rank, placed.lane, placed.step,
                 "waits for signal " + text(wait.signal) + " of lane " + text(wait.lane) + " of rank " + text(wait.rank) + ", which has " + text(signals));
}

}  // namespace rondo::plan
