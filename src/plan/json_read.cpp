// JSON → Plan. Strict: what isn't known is an error. check_form isn't called here; whoever runs or proves a plan does.
#include "base/json_node.hpp"
#include "base/json_text.hpp"
#include "plan/json_fields.hpp"
#include "plan/names.hpp"

namespace rondo {
namespace {

using nlohmann::json;

constexpr std::size_t max_bytes = std::size_t{32} << 20;  // parsed, a text takes some twenty times its size
constexpr int max_nesting = 8;                            // a plan needs 7

std::string printable(const json& text) {
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Calls `member(key, node)` for every member of an object; one that returns false is unknown.
template <class Member>
void for_each_member(const JsonNode& object, const std::string& accepted, Member&& member) {
  if (!object.json().is_object()) return object.expected("an object with " + accepted);
  for (const auto& entry : object.json().items()) {
    if (object.failed()) return;
    if (!member(entry.key(), object.member(entry.key(), entry.value())))
      object.report("unknown key " + printable(entry.key()) + "; accepted are " + accepted);
  }
}

void read_value(const JsonNode& node, Collective& value) {
  std::string name;
  node.read(name);
  if (node.failed()) return;
  const auto parsed = parse_collective(name);
  if (!parsed) return node.report(parsed.error().detail);
  value = *parsed;
}

void read_value(const JsonNode& node, std::optional<DataType>& value) {
  std::string name;
  node.read(name);
  if (node.failed()) return;
  const auto parsed = parse_data_type(name);
  if (!parsed) return node.report(parsed.error().detail);
  value = *parsed;
}

void read_value(const JsonNode& node, Protocol& value) {
  std::string name;
  node.read(name);
  for (const Protocol protocol : {Protocol::inlined, Protocol::staged, Protocol::direct}) {
    if (name != to_string(protocol)) continue;
    value = protocol;
    return;
  }
  node.expected("\"inlined\", \"staged\" or \"direct\"");
}

void read_value(const JsonNode& node, std::vector<std::uint32_t>& values) {
  values.resize(node.size());
  for (std::size_t k = 0; k < values.size() && !node.failed(); ++k) node.at(k).read(values[k]);
}

template <class T>
void read_value(const JsonNode& node, T& value) {
  node.read(value);
}

Operands read_operands(const JsonNode& node) {
  const auto one = [](const JsonNode& at) {
    std::string text;
    at.read(text);
    const auto operand = rondo::plan::parse_operand(text);
    if (!operand && !at.failed())
      at.expected(
          "an operand such as \"input[0]\", \"scratch@1[0:2]\" (first chunk:chunks) or \"link(1,0)\" (peer,channel)");
    return operand.value_or(Operand{});
  };
  if (node.json().is_string()) return {one(node)};
  Operands operands(node.size());
  for (std::size_t k = 0; k < operands.size() && !node.failed(); ++k) operands[k] = one(node.at(k));
  return operands;
}

void read_pair(const JsonNode& node, const char* what, std::uint32_t& first, std::uint32_t& second) {
  if (!node.json().is_array() || node.json().size() != 2) return node.expected(what);
  node.at(std::size_t{0}).read(first);
  node.at(std::size_t{1}).read(second);
}

Afters read_after(const JsonNode& node) {
  Afters all(node.size());
  for (std::size_t k = 0; k < all.size() && !node.failed(); ++k) read_pair(node.at(k), "[lane, step]", all[k].lane, all[k].step);
  return all;
}

Once read_once(const JsonNode& node) {
  Once once;
  read_pair(node, "[rank, word]", once.rank, once.index);
  return once;
}

WaitFor read_wait(const JsonNode& node) {
  WaitFor wait;
  for_each_member(node, "rank, lane, signal, lag", [&](const std::string& key, const JsonNode& value) {
    std::uint32_t* field = key == "rank"     ? &wait.rank
                           : key == "lane"   ? &wait.lane
                           : key == "signal" ? &wait.signal
                           : key == "lag"    ? &wait.lag
                                             : nullptr;
    if (field != nullptr) value.read(*field);
    return field != nullptr;
  });
  for (const char* key : {"rank", "lane", "signal"})
    if (!node.failed() && !node.has(key)) node.report("\"" + std::string(key) + "\" is missing");
  return wait;
}

void read_signal(const JsonNode& node) {
  bool value = false;
  node.read(value);
  if (!value) node.expected("true");
}

/// Reads the member that says what a step does; false when `key` is no kind of step.
bool read_kind(const std::string& key, const JsonNode& value, Step& step) {
  for (const StepKind kind : {StepKind::copy, StepKind::reduce, StepKind::signal, StepKind::wait}) {
    if (key != to_string(kind)) continue;
    step.kind = kind;
    if (kind == StepKind::wait) {
      step.wait = read_wait(value);
    } else if (kind == StepKind::signal) {
      read_signal(value);
    } else {
      step.sources = read_operands(value);
    }
    return true;
  }
  return false;
}

Step read_step(const JsonNode& node) {
  Step step;
  int kinds = 0;
  const std::string accepted = "copy, reduce, signal, wait; to, finish, skew, after, once";
  for_each_member(node, accepted, [&](const std::string& key, const JsonNode& value) {
    if (read_kind(key, value, step)) {
      ++kinds;
    } else if (key == "to") {
      step.destinations = read_operands(value);
    } else if (key == "finish") {
      value.read(step.finish);
    } else if (key == "skew") {
      value.read(step.skew);
    } else if (key == "after") {
      step.after = read_after(value);
    } else if (key == "once") {
      step.once = read_once(value);
    } else {
      return false;
    }
    return true;
  });
  if (!node.failed() && kinds != 1) node.report("expected exactly one of copy, reduce, signal and wait");
  const bool moves = step.kind == StepKind::copy || step.kind == StepKind::reduce;
  if (!node.failed() && moves != node.has("to"))
    node.report(moves ? "\"to\" is missing" : "\"to\" goes with copy and reduce alone");
  return step;
}

Lane read_lane(const JsonNode& node) {
  Lane lane;
  const std::size_t steps = node.size();
  lane.steps.reserve(steps);
  for (std::size_t s = 0; s < steps && !node.failed(); ++s) lane.steps.push_back(read_step(node.at(s)));
  return lane;
}

Program read_program(const JsonNode& node, std::size_t rank) {
  Program program;
  for_each_member(node, "rank, lanes", [&](const std::string& key, const JsonNode& value) {
    if (key == "rank") {
      std::uint32_t said = 0;
      value.read(said);
      if (said != rank) value.expected(std::to_string(rank) + ", programs stand in the order of their ranks");
      return true;
    }
    if (key != "lanes") return false;
    const std::size_t lanes = value.size();
    for (std::size_t l = 0; l < lanes && !value.failed(); ++l) program.lanes.push_back(read_lane(value.at(l)));
    return true;
  });
  if (!node.failed() && !node.has("lanes")) node.report("\"lanes\" is missing");
  return program;
}

std::vector<Program> read_programs(const JsonNode& node) {
  std::vector<Program> programs;
  const std::size_t count = node.size();
  for (std::size_t r = 0; r < count && !node.failed(); ++r) programs.push_back(read_program(node.at(r), r));
  return programs;
}

std::vector<Candidate> read_considered(const JsonNode& node) {
  std::vector<Candidate> all(node.size());
  for (std::size_t k = 0; k < all.size() && !node.failed(); ++k)
    for_each_member(node.at(k), "algorithm, predicted_ns, note", [&](const std::string& key, const JsonNode& value) {
      if (key == "algorithm") {
        value.read(all[k].algorithm);
      } else if (key == "predicted_ns") {
        value.read(all[k].predicted_ns);
      } else if (key == "note") {
        value.read(all[k].note);
      } else {
        return false;
      }
      return true;
    });
  return all;
}

Plan read_root(const JsonNode& root) {
  PlanHeader header;
  Plan plan;
  std::vector<Program> programs;
  std::vector<Candidate> considered;
  double predicted_ns = 0;
  std::string accepted = std::string(rondo::plan::format_key);
  rondo::plan::for_each_field(header, [&](const char* name, auto&) { accepted += ", " + std::string(name); });
  accepted += ", predicted_ns, considered, programs";
  for_each_member(root, accepted, [&](const std::string& key, const JsonNode& value) {
    bool known = key == rondo::plan::format_key;
    rondo::plan::for_each_field(header, [&](const char* name, auto& field) {
      if (key != name) return;
      known = true;
      read_value(value, field);
    });
    if (key == "predicted_ns") {
      value.read(predicted_ns);
    } else if (key == "considered") {
      considered = read_considered(value);
    } else if (key == "programs") {
      programs = read_programs(value);
    } else {
      return known;
    }
    return true;
  });
  for (const char* key : {rondo::plan::format_key, "collective", "ranks", "programs"})
    if (!root.failed() && !root.has(key)) root.report("\"" + std::string(key) + "\" is missing");
  if (root.failed()) return plan;
  if (root.at(rondo::plan::format_key).number(0, ~std::uint64_t{0}) != rondo::plan::format_version)
    root.at(rondo::plan::format_key).expected("version " + std::to_string(rondo::plan::format_version));
  plan = Plan(std::move(header), std::move(programs));
  plan.predicted_ns = predicted_ns;
  plan.considered = std::move(considered);
  return plan;
}

}  // namespace

Result<Plan> read_plan(std::string_view text) {
  Problem problem("read_plan");
  Plan plan;
  if (text.size() > max_bytes) {
    problem.report("a plan text of " + std::to_string(text.size()) + " bytes; at most " + std::to_string(max_bytes) +
                   " are read");
  } else {
    const json root = parse_json(text, max_nesting, problem);
    if (!problem.any()) plan = read_root(JsonNode(root, problem));
  }
  if (problem.any()) return problem.error();
  return plan;
}

}  // namespace rondo
