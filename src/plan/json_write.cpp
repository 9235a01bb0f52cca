// Plan → JSON, laid out for people: a line for each header field and for each step.
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "plan/json_fields.hpp"
#include "plan/names.hpp"

namespace rondo {
namespace {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string print(std::string_view text) {
  return json_string(text);
}
std::string print(Collective collective) {
  return json_string(to_string(collective));
}
std::string print(Protocol protocol) {
  return json_string(to_string(protocol));
}
std::string print(bool value) {
  return value ? "true" : "false";
}
std::string print(std::uint64_t value) {
  return std::to_string(value);
}
std::string print(std::uint32_t value) {
  return std::to_string(value);
}

std::string print(const std::vector<std::uint32_t>& values) {
  std::string text = "[";
  for (const std::uint32_t value : values) text += (text.size() == 1 ? "" : ", ") + std::to_string(value);
  return text + "]";
}

std::string print(DataType type) {
  return json_string(to_string(type));
}

/// The shortest digits that read back as the same number; JSON knows no infinities.
std::string print(double value) {
  if (!std::isfinite(value)) return "0";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return std::string(digits.data(), end);
}

std::string print(const Operands& operands) {
  std::string text = "[";
  for (const Operand& operand : operands)
    text += (text.size() == 1 ? "" : ", ") + json_string(plan::print_operand(operand));
  return text + "]";
}

std::string print(const Step& step) {
  std::string text = "{";
  text += json_string(to_string(step.kind));
  text += ": ";
  if (step.kind == StepKind::signal) {
    text += "true";
  } else if (step.kind == StepKind::wait) {
    text += "{\"rank\": " + print(step.wait.rank) + ", \"lane\": " + print(step.wait.lane) +
            ", \"signal\": " + print(step.wait.signal);
    if (step.wait.lag != 0) text += ", \"lag\": " + print(step.wait.lag);
    text += "}";
  } else {
    text += step.sources.size() == 1 ? json_string(plan::print_operand(step.sources[0])) : print(step.sources);
    text += ", \"to\": " + print(step.destinations);
  }
  if (step.finish) text += ", \"finish\": true";
  if (step.skew != 0) text += ", \"skew\": " + print(step.skew);
  if (!step.after.empty()) {
    text += ", \"after\": [";
    for (const After& after : step.after)
      text += (&after == step.after.data() ? "[" : ", [") + print(after.lane) + ", " + print(after.step) + "]";
    text += "]";
  }
  if (step.once) text += ", \"once\": [" + print(step.once->rank) + ", " + print(step.once->index) + "]";
  return text + "}";
}

/// Lines of an array, with commas between them.
class Lines {
 public:
  explicit Lines(std::string& text) : text_(text) {}
  std::string& next(const char* indent) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    return text_ += indent;
  }
  /// Ends the array: the bracket stands right behind an empty one.
  void end(const char* indent, const char* closing) {
    if (!first_) text_.append("\n").append(indent);
    text_ += closing;
  }

 private:
  std::string& text_;
  bool first_ = true;
};

void write_program(const Program& program, std::uint32_t rank, std::string& text) {
  text += "{\"rank\": " + print(rank) + ", \"lanes\": [";
  Lines lanes(text);
  for (const Lane& lane : program.lanes) {
    lanes.next("      ") += "[";
    Lines steps(text);
    for (const Step& step : lane.steps) steps.next("        ") += print(step);
    steps.end("      ", "]");
  }
  lanes.end("    ", "]}");
}

}  // namespace

std::string write_plan(const Plan& plan) {
  std::string text = "{";
  Lines fields(text);
  fields.next("  ") += json_string(rondo::plan::format_key) + ": " + print(rondo::plan::format_version);
  rondo::plan::for_each_field(plan.header, [&]<class Field>(const char* name, const Field& value) {
    if constexpr (std::is_same_v<Field, std::optional<DataType>>) {
      if (value) fields.next("  ") += json_string(name) + ": " + print(*value);
    } else {
      fields.next("  ") += json_string(name) + ": " + print(value);
    }
  });
  fields.next("  ") += "\"predicted_ns\": " + print(plan.predicted_ns);
  fields.next("  ") += "\"considered\": [";
  Lines candidates(text);
  for (const Candidate& candidate : plan.considered)
    candidates.next("    ") += "{\"algorithm\": " + json_string(candidate.algorithm) +
                               ", \"predicted_ns\": " + print(candidate.predicted_ns) +
                               ", \"note\": " + json_string(candidate.note) + "}";
  candidates.end("  ", "]");
  fields.next("  ") += "\"programs\": [";
  Lines programs(text);
  for (std::uint32_t rank = 0; rank < plan.header.ranks && plan.complete(); ++rank)
    write_program(plan.program(rank), rank, programs.next("    "));
  programs.end("  ", "]");
  fields.end("", "}\n");
  return text;
}

}  // namespace rondo
