// The words that stand for a plan's parts, in descriptions and in the JSON form alike.
#include "plan/names.hpp"

namespace rondo {
namespace {

std::string list(const Operands& operands) {
  std::string text;
  for (const Operand& operand : operands) {
    if (!text.empty()) text += ", ";
    text += plan::print_operand(operand);
  }
  return text;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::inlined:
      return "inlined";
    case Protocol::staged:
      return "staged";
    case Protocol::direct:
      return "direct";
  }
  return "unknown";
}

std::string_view to_string(Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return "input";
    case Buffer::output:
      return "output";
    case Buffer::scratch:
      return "scratch";
    case Buffer::link:
      return "link";
  }
  return "unknown";
}

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::copy:
      return "copy";
    case StepKind::reduce:
      return "reduce";
    case StepKind::signal:
      return "signal";
    case StepKind::wait:
      return "wait";
  }
  return "unknown";
}

std::string describe(const Step& step) {
  std::string text(to_string(step.kind));
  if (step.kind == StepKind::wait) {
    text += " for rank " + std::to_string(step.wait.rank) + ", lane " + std::to_string(step.wait.lane) + ", signal " +
            std::to_string(step.wait.signal);
    if (step.wait.lag != 0) text += ", lag " + std::to_string(step.wait.lag);
  }
  if (!step.sources.empty() || !step.destinations.empty()) {
    text += " ";
    text += list(step.sources);
    text += " -> ";
    text += list(step.destinations);
  }
  std::string notes;
  const auto note = [&](const std::string& what) {
    if (!notes.empty()) notes += "; ";
    notes += what;
  };
  if (step.finish) note("finish");
  if (step.skew != 0) note("skew " + std::to_string(step.skew));
  for (const After& after : step.after)
    note("after lane " + std::to_string(after.lane) + ", step " + std::to_string(after.step));
  if (step.once) note("once, by word " + std::to_string(step.once->index) + " of rank " + std::to_string(step.once->rank));
  return notes.empty() ? text : text + " (" + notes + ")";
}

namespace plan {

std::string print_operand(const Operand& operand) {
  const bool link = operand.buffer == Buffer::link;
  std::string text(to_string(operand.buffer));
  const auto number = [&](const char* before, std::uint32_t value) {
    text.append(before).append(std::to_string(value));
  };
  if (link) {
    number("(", operand.rank);
    number(",", operand.index);
    text += ")";
    if (operand.count != 1) number("x", operand.count);
  } else {
    if (operand.rank != self) number("@", operand.rank);
    number("[", operand.index);
    if (operand.count != 1) number(":", operand.count);
    text += "]";
  }
  return text;
}

}  // namespace plan
}  // namespace rondo
