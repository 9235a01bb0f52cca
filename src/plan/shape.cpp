#include "plan/shape.hpp"

#include <algorithm>

namespace rondo::plan {
namespace {

/// Marks the steps that something will wait for: `inserted` holds these marks until the lanes are numbered.
void mark(const Program& program, const KeptLinks& kept, std::uint32_t rank, Shape& shape) {
  for (const Lane& lane : program.lanes) shape.inserted.emplace_back(lane.steps.size(), false);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const std::vector<Step>& steps = program.lanes[lane].steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      bool slots = false;
      for (const auto* operands : {&steps[s].sources, &steps[s].destinations})
        for (const Operand& operand : *operands)
          if (operand.buffer == Buffer::link) (kept.make_slot(rank, operand) ? slots : shape.keeps_links) = true;
      if (!slots && steps[s].after.empty()) continue;
      shape.trivial = false;
      if (slots) shape.inserted[lane][s] = true;
      for (const After& after : steps[s].after)
        if (after.lane < shape.inserted.size() && after.step < shape.inserted[after.lane].size())
          shape.inserted[after.lane][after.step] = true;
    }
  }
}

/// A marked step that is a signal, or has one right behind it at the same piece, needs no new one.
void number_signals(const Program& program, Shape& shape) {
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const std::vector<Step>& steps = program.lanes[lane].steps;
    std::vector<std::uint32_t> signals;
    std::vector<std::uint32_t> behind(steps.size(), never);
    std::uint32_t next = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const bool follows = s + 1 < steps.size() && steps[s + 1].kind == StepKind::signal &&
                           steps[s + 1].skew == steps[s].skew && steps[s + 1].after.empty();
      const bool is_signal = steps[s].kind == StepKind::signal;
      const bool marked = shape.inserted[lane][s];
      if (is_signal || marked) behind[s] = next;
      if (is_signal) signals.push_back(next);
      shape.inserted[lane][s] = marked && !is_signal && !follows;
      if (is_signal || shape.inserted[lane][s]) ++next;
    }
    shape.signals.push_back(std::move(signals));
    shape.behind.push_back(std::move(behind));
  }
}

void collect(const Operands& operands, const KeptLinks& kept, std::uint32_t rank, Message message, std::map<LinkKey, LinkEnd>& ends) {
  for (message.operand = 0; message.operand < operands.size(); ++message.operand) {
    const Operand& operand = operands[message.operand];
    if (!kept.make_slot(rank, operand)) continue;
    message.count = operand.count;
    ends[{operand.rank, operand.index}].messages.push_back(message);
  }
}

void order(LinkEnd& end) {
  std::sort(end.messages.begin(), end.messages.end(),
            [](const Message& a, const Message& b) { return a.place() < b.place(); });
}

/// With unequal skews a message may pass others of its body between its own pieces; then each has chunks of its own.
void lay_out(const PlanHeader& header, Shape& shape) {
  for (auto& [key, end] : shape.sends) {
    const std::size_t messages = end.messages.size();
    const bool even = end.messages.front().skew == end.messages.back().skew;
    end.slots = static_cast<std::uint32_t>(even ? std::min<std::size_t>(messages, header.depth) : messages);
    for (const Message& message : end.messages) end.width = std::max(end.width, message.count);
    end.chunk = static_cast<std::uint32_t>(std::min<std::uint64_t>(shape.chunks, never));
    shape.chunks += std::uint64_t{end.slots} * end.width;
  }
}

}  // namespace

std::size_t LinkEnd::number(const Message& message) const {
  const auto at = std::lower_bound(messages.begin(), messages.end(), message,
                                   [](const Message& a, const Message& b) { return a.place() < b.place(); });
  const bool found = at != messages.end() && at->place() == message.place();
  return found ? static_cast<std::size_t>(at - messages.begin()) : messages.size();
}

std::uint32_t Shape::signal(std::uint32_t lane, std::uint32_t old) const {
  if (trivial) return old;
  return lane < signals.size() && old < signals[lane].size() ? signals[lane][old] : never;
}

std::uint32_t Shape::signal_behind(std::uint32_t lane, std::uint32_t step) const {
  return lane < behind.size() && step < behind[lane].size() ? behind[lane][step] : never;
}

Shape shape_of(const PlanHeader& header, const Program& program, const KeptLinks& kept, std::uint32_t rank) {
  Shape shape;
  shape.chunks = header.scratch_chunks;
  mark(program, kept, rank, shape);
  if (shape.trivial) {
    shape.inserted.clear();
    return shape;
  }
  number_signals(program, shape);
  for (std::uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
    const std::vector<Step>& steps = program.lanes[lane].steps;
    for (std::uint32_t s = 0; s < steps.size(); ++s) {
      const Message message{steps[s].skew, lane, s, 0, 1};
      collect(steps[s].sources, kept, rank, message, shape.receives);
      collect(steps[s].destinations, kept, rank, message, shape.sends);
    }
  }
  for (auto* ends : {&shape.sends, &shape.receives})
    for (auto& [key, end] : *ends) order(end);
  lay_out(header, shape);
  // A receive that no message answers still has to name some chunk of its peer's.
  for (const auto& [key, end] : shape.receives)
    for (const Message& message : end.messages) shape.chunks = std::max<std::uint64_t>(shape.chunks, message.count);
  return shape;
}

}  // namespace rondo::plan
