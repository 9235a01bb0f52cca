// What a plan may not ask for, by docs/design/0001-plan-ir.md alone: what the form check is held against.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "verifier/interpreter.hpp"

namespace rondo::test {
namespace {

class LimitFinder {
 public:
  explicit LimitFinder(const Plan& plan) : plan_(plan), header_(plan.header), inlined_(plan.header.protocol == Protocol::inlined) {
    for (rank_ = 0; rank_ < header_.ranks; ++rank_) look_at(plan.program(rank_));
    for (const auto& [word, copies] : shared_out_) {
      const bool one = std::all_of(copies.begin(), copies.end(), [first = copies[0]](const Shared& copy) {
        return copy.source == first.source && copy.destination == first.destination;
      });
      if (!one) impossible("a word by which ranks mean different copies");  // then no one order stands for all
      std::set<std::uint32_t> ranks;
      for (const Shared& copy : copies) ranks.insert(copy.rank);
      if (ranks.size() != copies.size()) forbidden("a word that a rank names twice");
      if (!ranks.contains(word.first)) forbidden("a word whose owner has no such copy");
    }
  }

  const Limits& limits() const { return limits_; }

 private:
  void impossible(const std::string& what) { limits_.impossible = what; }
  void forbidden(const std::string& what) { limits_.forbidden = what; }

  void look_at(const Program& program) {
    for (lane_ = 0; lane_ < program.lanes.size(); ++lane_)
      for (const Step& step : program.lanes[lane_].steps) {
        if (step.kind == StepKind::wait && step.wait.rank == rank_ && step.wait.lane == lane_) forbidden("a wait for its own lane");
        if (inlined_ && step.kind == StepKind::wait && step.wait.lag > 0 && !exists(step.wait))  // it is never waited for: there is one piece
          forbidden("an earlier piece's signal that isn't there");
        if (inlined_ && step.kind == StepKind::wait && step.wait.rank == rank_) forbidden("an order among the lanes of an inlined rank");
        if (inlined_ && !step.after.empty()) forbidden("an order among the lanes of an inlined rank");
        if (inlined_ && step.skew != 0) forbidden("skew in an inlined plan");
        if (header_.collective == Collective::all_to_all_v && header_.neutral && !moves_one_block(step))
          forbidden("a step of all_to_all_v that moves no pair's block");
        if (step.once) look_at_shared(step);
        if (step.kind == StepKind::copy || step.kind == StepKind::reduce) look_at(step);
      }
  }

  void look_at_shared(const Step& step) {
    const bool copies = step.kind == StepKind::copy && step.sources.size() == 1 && step.destinations.size() == 1;
    if (!copies || step.finish || !step.after.empty()) return forbidden("a step done once that is no plain copy");
    if (header_.protocol != Protocol::direct || header_.neutral || header_.collective == Collective::all_to_all_v)
      forbidden("a copy done once in such a plan");
    if (step.once->rank >= header_.ranks || step.once->index >= 16) forbidden("a word that there isn't");
    Shared shared{rank_, step.sources[0], step.destinations[0]};
    for (Operand* operand : {&shared.source, &shared.destination}) {
      if (operand->buffer == Buffer::link) return forbidden("a message done once");
      operand->rank = owner(*operand);
    }
    shared_out_[{step.once->rank, step.once->index}].push_back(shared);
  }

  bool exists(const WaitFor& wait) const {
    if (wait.rank >= header_.ranks) return false;
    const Program program = plan_.program(wait.rank);
    if (wait.lane >= program.lanes.size()) return false;
    const std::vector<Step>& steps = program.lanes[wait.lane].steps;
    return wait.signal < std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.kind == StepKind::signal; });
  }

  bool moves_one_block(const Step& step) const {
    if (step.kind != StepKind::copy || step.sources.size() != 1 || step.destinations.size() != 1 || !step.after.empty()) return false;
    const Operand& from = step.sources[0];
    const Operand& to = step.destinations[0];
    if (from.count != 1 || header_.chunks_per_block != 1) return false;
    if (from.buffer == Buffer::link) return to.buffer == Buffer::output && to.index == from.rank;
    if (from.buffer != Buffer::input) return false;
    return to.buffer == Buffer::link ? from.index == to.rank : to.buffer == Buffer::output && from.index == rank_ && to.index == rank_;
  }

  void look_at(const Step& step) {
    if (step.sources.empty() || step.destinations.empty()) return impossible("a step with nothing to read or to write");
    for (const Operand& source : step.sources) look_at(source, step.sources[0].count, false);
    for (const Operand& destination : step.destinations) look_at(destination, step.sources[0].count, true);
    const auto twice = [&](const Operands& side, bool links) {
      std::set<std::tuple<Buffer, std::uint32_t, std::uint32_t>> seen;
      return std::any_of(side.begin(), side.end(), [&](const Operand& operand) {
        return (operand.buffer == Buffer::link) == links && !seen.emplace(operand.buffer, owner(operand), operand.index).second;
      });
    };
    if (twice(step.sources, true) || twice(step.destinations, true)) impossible("a link twice on one side of a step");
    if (twice(step.destinations, false)) forbidden("two destinations in one place");
  }

  void look_at(const Operand& operand, std::uint32_t length, bool destination) {
    if (operand.count == 0 || operand.count != length) impossible("operands of unequal length");
    if (owner(operand) >= header_.ranks) return impossible("an operand of no rank");
    if (operand.buffer == Buffer::link) return look_at_link(operand, destination);
    const bool input = operand.buffer == Buffer::input;
    const bool foreign = owner(operand) != rank_;
    std::uint64_t chunks = header_.scratch_chunks;
    if (operand.buffer != Buffer::scratch) {
      chunks = input ? input_chunks(header_) : output_chunks(header_);
      if (!(input ? has_input(header_, owner(operand)) : has_output(header_, owner(operand)))) chunks = 0;
      if (foreign && header_.protocol != Protocol::direct) forbidden("a peer's buffer without protocol direct");
    }
    if (std::uint64_t{operand.index} + operand.count > chunks) return impossible("an operand outside its buffer");
    if (input && destination) forbidden("a write to an input");
    if (operand.buffer != Buffer::scratch || !destination || !inlined_) return;
    if (foreign) forbidden("a peer's flag lines written in an inlined plan");
    for (std::uint32_t chunk = operand.index; chunk < operand.index + operand.count; ++chunk)
      if (!lines_.emplace(rank_, chunk).second) forbidden("flag lines written twice in an inlined plan");
  }

  void look_at_link(const Operand& operand, bool destination) {
    if (operand.rank == rank_) forbidden("a link to its own rank");
    if (inlined_) forbidden("a link in an inlined plan");
    const std::tuple end{destination, rank_, operand.rank, operand.index};
    const bool shared = std::any_of(ends_.begin(), ends_.end(), [&](const auto& used) { return used.first == end && used.second != lane_; });
    if (shared) forbidden("an end of a link used by two lanes");
    ends_.emplace(end, lane_);
  }

  std::uint32_t owner(const Operand& operand) const { return operand.rank == self ? rank_ : operand.rank; }

  const Plan& plan_;
  const PlanHeader& header_;
  const bool inlined_;
  std::uint32_t rank_ = 0;
  std::uint32_t lane_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> lines_;  // rank, chunk
  std::set<std::pair<std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>> ends_;  // end of a link, lane
  struct Shared {
    std::uint32_t rank;
    Operand source, destination;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Shared>> shared_out_;  // by word
  Limits limits_;
};

}  // namespace

Limits limits_of(const Plan& plan) {
  return LimitFinder(plan).limits();
}

}  // namespace rondo::test
