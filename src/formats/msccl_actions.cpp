#include "formats/msccl_actions.hpp"

#include <algorithm>

namespace rondo::formats {

/// Which operands lie in memory and which are messages.
std::string ActionMaker::part(const Step& step, Sides& sides) const {
  for (const auto* operands : {&step.sources, &step.destinations})
    for (const Operand& operand : *operands) {
      const bool source = operands == &step.sources;
      if (operand.buffer == Buffer::link)
        (source ? sides.receives : sides.sends).push_back(operand);
      else if (operand.rank != self && operand.rank != rank_)
        return "it touches " + std::string(to_string(operand.buffer)) + " of rank " + std::to_string(operand.rank) +
               "; MSCCL's steps reach their own rank's buffers alone";
      else
        (source ? sides.sources : sides.destinations).push_back(operand);
    }
  return {};
}

/// Whether two operands are one place; where a plan is for calls in place alone, input and output share their memory.
bool ActionMaker::same_place(const Operand& a, const Operand& b) const {
  if (a.buffer == b.buffer) return a.index == b.index;
  if (header_.out_of_place || a.buffer == Buffer::scratch || b.buffer == Buffer::scratch) return false;
  const auto place = [&](const Operand& operand) {
    const bool inner = operand.buffer == Buffer::input ? input_is_block(header_.collective) : output_is_block(header_.collective);
    return operand.index + (inner ? rank_ * header_.chunks_per_block : 0);
  };
  return place(a) == place(b);
}

Operand ActionMaker::spare(std::uint32_t count) {
  const Operand kept{Buffer::scratch, self, scratch_, count};
  scratch_ += count;
  return kept;
}

/// Takes the next message; the last one may be passed on by the same step, if there is one place to send it.
void ActionMaker::receive_into(const char* type, const char* and_send, std::optional<Operand> source, const Operand& destination, Sides& sides) {
  Action action{type, source, destination, std::nullopt, sides.receives.front(), count_};
  sides.receives.erase(sides.receives.begin());
  if (fused_ && sides.receives.empty() && sides.sources.empty() && sides.sends.size() == 1) {
    action.type = and_send;
    action.send = sides.sends.front();
    sides.sends.clear();
  }
  actions_->push_back(action);
}

void ActionMaker::pass_on(const Operand& from, const Sides& sides) {
  for (const Operand& to : sides.destinations)
    if (!same_place(from, to)) actions_->push_back({"cpy", from, to, std::nullopt, std::nullopt, count_});
  for (const Operand& to : sides.sends) actions_->push_back({"s", from, std::nullopt, to, std::nullopt, count_});
}

void ActionMaker::copy(Sides& sides) {
  if (sides.receives.empty()) return pass_on(sides.sources.front(), sides);
  const Operand here = sides.destinations.empty() ? spare(count_) : sides.destinations.front();
  receive_into("r", "rcs", std::nullopt, here, sides);
  pass_on(here, sides);
}

/// Where the result grows. What is there already is the first source; else the first source, with a message if there is one, goes there.
Operand ActionMaker::start(Sides& sides) {
  const Operand* const to = sides.destinations.empty() ? nullptr : &sides.destinations.front();
  const auto there = std::find_if(sides.sources.begin(), sides.sources.end(), [&](const Operand& source) { return to != nullptr && same_place(source, *to); });
  if (there != sides.sources.end()) {
    sides.sources.erase(there);
    return *to;
  }
  // In place, an output may be another source's memory.
  const bool safe = to != nullptr && (sides.sources.size() <= 1 || !header_.in_place);
  const Operand here = safe ? *to : spare(count_);
  if (sides.sources.empty()) {
    receive_into("r", "rcs", std::nullopt, here, sides);
    return here;
  }
  const Operand first = sides.sources.front();
  sides.sources.erase(sides.sources.begin());
  if (sides.receives.empty())
    actions_->push_back({"cpy", first, here, std::nullopt, std::nullopt, count_});
  else
    receive_into("rrc", "rrcs", first, here, sides);
  return here;
}

void ActionMaker::reduce(Sides& sides) {
  if (fused_ && sides.destinations.empty() && sides.sources.size() == 1 && sides.receives.size() == 1 && sides.sends.size() == 1) {
    actions_->push_back({"rrs", sides.sources.front(), std::nullopt, sides.sends.front(), sides.receives.front(), count_});
    return;
  }
  const Operand here = start(sides);
  for (const Operand& source : sides.sources) actions_->push_back({"re", source, here, std::nullopt, std::nullopt, count_});
  sides.sources.clear();
  while (!sides.receives.empty()) receive_into("rrc", "rrcs", here, here, sides);
  pass_on(here, sides);
}

std::string ActionMaker::add(const Step& step, std::vector<Action>& actions) {
  Sides sides;
  if (std::string wrong = part(step, sides); !wrong.empty()) return wrong;
  actions_ = &actions;
  count_ = step.sources.front().count;
  step.kind == StepKind::copy ? copy(sides) : reduce(sides);
  return {};
}

}  // namespace rondo::formats
