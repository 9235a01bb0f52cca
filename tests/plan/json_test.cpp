#include <random>

#include "has.hpp"
#include "samples.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

void check_round_trip(const Plan& plan) {
  const std::string text = write_plan(plan);
  INFO(text);
  const auto read = read_plan(text);
  INFO((read ? "" : read.error().detail));
  REQUIRE(read.has_value());
  CHECK(read->header == plan.header);
  CHECK(table(*read) == table(plan));
  CHECK(read->predicted_ns == plan.predicted_ns);
  CHECK(read->considered == plan.considered);
  CHECK(write_plan(*read) == text);
}

class RandomPlan {
 public:
  explicit RandomPlan(std::uint64_t seed) : random_(seed) {}

  Plan make() {
    PlanHeader h;
    h.algorithm = "random \"quoted\" \\ \n \xc3\xa9";
    h.collective = static_cast<Collective>(below(collective_count));
    h.protocol = static_cast<Protocol>(below(3));
    h.ranks = below(4);
    for (std::uint32_t* field :
         {&h.root, &h.chunks_per_block, &h.scratch_chunks, &h.depth, &h.piece_bytes, &h.alignment_bytes})
      *field = number();
    h.min_bytes = random_();
    h.max_bytes = random_();
    for (bool* field : {&h.out_of_place, &h.in_place, &h.neutral}) *field = below(2) == 1;
    if (below(2) == 1) h.wire = static_cast<DataType>(below(data_type_count));
    for (std::uint32_t k = below(4); k > 0; --k) h.order.push_back(number());
    for (std::uint32_t k = below(3); k > 0; --k) h.groups.push_back(number());
    std::vector<Program> programs(h.ranks);
    for (Program& program : programs) {
      program.lanes.resize(below(3));
      for (Lane& lane : program.lanes)
        for (std::uint32_t k = below(6); k > 0; --k) lane.steps.push_back(step());
    }
    Plan plan(h, programs);
    plan.predicted_ns = static_cast<double>(random_()) / 7;
    for (std::uint32_t k = below(3); k > 0; --k) plan.considered.push_back({"a\tb", 1e300 / number(), "why\x01"});
    return plan;
  }

 private:
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::uint32_t number() { return static_cast<std::uint32_t>(random_() >> (32 + below(32))) + 1; }

  Operands operands() {
    Operands made(below(4));
    for (Operand& o : made) {
      o.buffer = static_cast<Buffer>(below(4));
      if (o.buffer == Buffer::link || below(2) == 1) o.rank = number();
      o.index = number();
      if (below(2) == 1) o.count = number();
    }
    return made;
  }

  Step step() {
    Step made;
    made.kind = static_cast<StepKind>(below(4));
    if (below(2) == 1) made.skew = number();
    made.finish = below(2) == 1;
    for (std::uint32_t k = below(3); k > 0; --k) made.after.push_back({number(), number()});
    if (below(3) == 0) made.once = Once{number(), number()};
    if (made.kind == StepKind::wait) made.wait = {number(), number(), number(), below(2)};
    if (made.kind == StepKind::copy || made.kind == StepKind::reduce) {
      made.sources = operands();
      made.destinations = operands();
    }
    return made;
  }

  std::mt19937_64 random_;
};

std::string problem(const std::string& text) {
  const auto read = read_plan(text);
  if (read) return "";
  CHECK(read.error().code == Errc::invalid_plan);
  return read.error().detail;
}

/// A small plan's text with `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = R"({"rondo_plan": 1, "collective": "all_reduce", "ranks": 1, "programs": [
  {"rank": 0, "lanes": [[
    {"copy": "input[0]", "to": ["output[0]"], "finish": true},
    {"wait": {"rank": 0, "lane": 1, "signal": 0}}],
    [{"signal": true}]]}]})";
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return problem(text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("plans made by hand come back from JSON as they were") {
  for (const Plan& plan : {ring(3, 2, 2, 1), read_peers(3), two_shot_puts(2), one_shot_without_credits(2)})
    check_round_trip(plan);
  check_round_trip(lower(ring(3)));
}

TEST_CASE("random plans come back from JSON as they were, well formed or not") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) check_round_trip(RandomPlan(seed).make());
}

TEST_CASE("the JSON form is readable: a line for each step") {
  Plan plan = one_shot_without_credits(2);
  const std::string text = write_plan(plan);
  INFO(text);
  CHECK(text.find("\n        {\"copy\": \"input[0]\", \"to\": [\"scratch[0]\"]},\n") != text.npos);
  CHECK(text.find("\n        {\"wait\": {\"rank\": 1, \"lane\": 0, \"signal\": 0}},\n") != text.npos);
  CHECK(
      text.find(
          "\n        {\"reduce\": [\"scratch[0]\", \"scratch@1[0]\"], \"to\": [\"output[0]\"], \"finish\": true}\n") !=
      text.npos);
}

TEST_CASE("a plan by hand may leave out what has a default") {
  CHECK(with("\"rank\": 0, \"lanes\"", "\"lanes\"") == "");
}

TEST_CASE("JSON that isn't well formed names line and column") {
  CHECK(has(problem(""), "not well-formed JSON"));
  CHECK(has(problem("{\n\n  \"rondo_plan\": 1,\n  oops}"), "line 4, column 3"));
  CHECK(has(problem("{} {}"), "not well-formed JSON"));
  CHECK(has(problem("\xff\xfe"), "not well-formed JSON"));
  CHECK(has(with("\"finish\": true}", "\"finish\": tru"), "line 3"));
}

TEST_CASE("what is unknown, missing, doubled or of the wrong type is named with its path") {
  CHECK(has(problem("[]"), "plan: expected an object"));
  CHECK(has(problem("{}"), "plan: \"rondo_plan\" is missing"));
  CHECK(has(with("\"rondo_plan\": 1", "\"rondo_plan\": 2"), "plan.rondo_plan: expected version 1, found 2"));
  CHECK(has(with("\"ranks\": 1,", ""), "plan: \"ranks\" is missing"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"ranks\": 2"), "\"ranks\" comes twice"));
  CHECK(has(with("\"ranks\": 1", "\"rank\": 1"), "plan: unknown key \"rank\"; accepted are rondo_plan, algorithm, "));
  CHECK(has(with("\"ranks\": 1", "\"ra\\u0000nks\": 1"), "unknown key"));
  CHECK(
      has(with("\"ranks\": 1", "\"ranks\": -1"), "plan.ranks: expected a whole number from 0 to 4294967295, found -1"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 4294967296"), "plan.ranks"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1.5"), "plan.ranks"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"order\": [0, \"x\"]"), "plan.order[1]: expected a whole number"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"order\": 3"), "plan.order: expected an array, found 3"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"in_place\": 1"), "plan.in_place: expected true or false, found 1"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"protocol\": \"eager\""), "plan.protocol: expected \"inlined\""));
  CHECK(has(with("all_reduce", "all_reduse"), "plan.collective: "));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"considered\": [{\"name\": 1}]"),
            "plan.considered[0]: unknown key \"name\"; accepted are algorithm, predicted_ns, note"));
  CHECK(has(with("\"rank\": 0, \"lanes\"", "\"rank\": 1, \"lanes\""), "plan.programs[0].rank: expected 0"));
  CHECK(has(with("\"lanes\": [[", "\"lane\": [["), "plan.programs[0]: unknown key \"lane\"; accepted are rank, lanes"));
}

TEST_CASE("steps that are spelled wrongly are named with their path") {
  const std::string step = "plan.programs[0].lanes[0][0]";
  CHECK(has(with("\"finish\"", "\"finnish\""), step + ": unknown key \"finnish\"; accepted are copy, reduce, signal"));
  CHECK(has(with("\"finish\": true", "\"reduce\": []"), step + ": expected exactly one of copy, reduce"));
  CHECK(has(with(", \"to\": [\"output[0]\"]", ""), step + ": \"to\" is missing"));
  CHECK(has(with("\"signal\": true", "\"signal\": true, \"to\": []"), "\"to\" goes with copy and reduce alone"));
  CHECK(has(with("\"signal\": true", "\"signal\": false"), ".lanes[1][0].signal: expected true, found false"));
  CHECK(has(with("\"signal\": 0}", "\"sig\": 0}"), "plan.programs[0].lanes[0][1].wait: unknown key \"sig\""));
  CHECK(has(with(", \"signal\": 0}", "}"), "wait: \"signal\" is missing"));
  CHECK(has(with("\"finish\": true", "\"after\": [[1]]"), step + ".after[0]: expected [lane, step]"));
  CHECK(has(with("\"finish\": true", "\"once\": 3"), step + ".once: expected [rank, word]"));
  CHECK(has(with("\"finish\": true", "\"once\": [1, -2]"), step + ".once[1]"));
  CHECK(has(with("\"finish\": true", "\"after\": [[1, \"x\"]]"), step + ".after[0][1]"));
  for (const char* operand : {"", "inputs[0]", "input", "input[]", "input[0", "input[0]x", "input[-1]", "input[0:]",
                              "input[99999999999]", "input@[0]", "input[0 : 2]", "link(1)", "link(1,0", "link(self,0)",
                              "link(1,0)2", "link[1,0]", "Input[0]", " input[0]"}) {
    INFO(operand);
    CHECK(has(with("output[0]", operand), step + ".to[0]: expected an operand such as"));
  }
}

TEST_CASE("hostile texts are refused without costing memory or stack") {
  CHECK(has(problem(std::string(1000000, '[')), "plan: nested more than 8 levels deep"));
  CHECK(has(problem(std::string((32u << 20) + 1, ' ')), "at most 33554432 are read"));
  CHECK(has(with("\"finish\": true", "\"skew\": 99999999999999999999999"), ".skew: expected a whole number"));
  CHECK(has(with("\"ranks\": 1", "\"ranks\": 1, \"predicted_ns\": 1e999"), "not well-formed JSON"));
}

TEST_CASE("a plan of many steps is read in time that grows with its length alone") {
  constexpr std::size_t count = sanitized ? 100'000 : 1'500'000;  // of which time that grows with the square (20 s for 200'000) outlasts the test's limit
  std::string steps = "{\"signal\": true}";
  for (std::size_t k = 1; k < count; ++k) steps += ", {\"signal\": true}";
  const auto plan = read_plan(R"({"rondo_plan": 1, "collective": "barrier", "ranks": 1, "programs": [{"lanes": [[)" + steps + "]]}]}");
  REQUIRE(plan.has_value());
  CHECK(plan->program(0).lanes.at(0).steps.size() == count);
}

TEST_CASE("cut anywhere, a plan's text is an error and nothing worse") {
  const std::string text = write_plan(lower(ring(2)));
  for (std::size_t length = 0; length + 2 < text.size(); length += 3) CHECK(problem(text.substr(0, length)) != "");
}
