#include "verifier/report.hpp"

namespace rondo::verifier {

void Report::add(Fault fault, std::uint32_t step, std::string message) {
  const StepName name = image_.name(step);
  add(Violation{fault, name.rank, name.lane, name.step, std::move(message)});
}

void Report::add_rank(Fault fault, std::uint32_t rank, std::string message) {
  add(Violation{fault, rank, -1, -1, std::move(message)});
}

void Report::add(Violation violation) {
  if (truncated_) return;
  // One line for each step and kind of fault; ranks as a whole may have several things wrong.
  const std::string detail = violation.step < 0 ? violation.message : std::string();
  if (!seen_.emplace(violation.fault, violation.rank, violation.lane, violation.step, detail).second) return;
  if (violations_.size() == most)
    truncated_ = true;
  else
    violations_.push_back(std::move(violation));
}

std::string where(const Image& image, std::uint32_t step) {
  const StepName name = image.name(step);
  return "rank " + std::to_string(name.rank) + ", lane " + std::to_string(name.lane) + ", step " +
         std::to_string(name.step);
}

std::string chunk_name(Buffer buffer, std::uint32_t owner, std::uint32_t index, std::uint32_t reader) {
  std::string name(to_string(buffer));
  if (owner != reader) name += "@" + std::to_string(owner);
  return name + "[" + std::to_string(index) + "]";
}

}  // namespace rondo::verifier

namespace rondo {

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::malformed:
      return "malformed";
    case Fault::double_contribution:
      return "double_contribution";
    case Fault::wrong_value:
      return "wrong_value";
    case Fault::postcondition:
      return "postcondition";
    case Fault::unmatched_message:
      return "unmatched_message";
    case Fault::deadlock:
      return "deadlock";
    case Fault::race:
      return "race";
    case Fault::overwritten_input:
      return "overwritten_input";
  }
  return "unknown";
}

std::string_view to_string(Strictness strictness) {
  switch (strictness) {
    case Strictness::loose:
      return "loose";
    case Strictness::own_type:
      return "own_type";
    case Strictness::any_type:
      return "any_type";
  }
  return "unknown";
}

std::string to_string(const Violation& violation) {
  std::string text(to_string(violation.fault));
  text += ": ";
  if (violation.rank >= 0) {
    text += "rank " + std::to_string(violation.rank);
    if (violation.lane >= 0) text += ", lane " + std::to_string(violation.lane);
    if (violation.step >= 0) text += ", step " + std::to_string(violation.step);
    text += ": ";
  }
  return text + violation.message;
}

}  // namespace rondo
