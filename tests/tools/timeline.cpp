#include "tools/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <tuple>

#include "support/catch.hpp"
#include "tools/plans.hpp"
#include "tools/subprocess.hpp"

namespace {

using namespace rondo;
using nlohmann::json;

constexpr std::uint64_t element = 4;

/// A step of a plan, by lane, number and chunk.
using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

/// What a step should show in a call, or did show.
struct Shown {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
  bool operator==(const Shown&) const = default;
};

/// Bytes of one chunk of a step: of the shortest user chunk among its operands, or a whole one.
std::uint64_t bytes_of(const PlanHeader& header, const Step& step, std::uint64_t count, std::uint32_t chunk) {
  std::uint64_t elements = chunk_range(header, count, element, 0).count;
  for (const auto* operands : {&step.sources, &step.destinations})
    for (const Operand& operand : *operands)
      if (operand.buffer == Buffer::input || operand.buffer == Buffer::output)
        elements = std::min(elements, chunk_range(header, count, element, operand.index + chunk).count);
  return elements * element;
}

/// What rank `rank` does in a call of `count` elements by the plan, but for the number of pieces.
std::map<Place, Shown> expected(const Plan& lowered, std::uint32_t rank, std::uint64_t count) {
  std::map<Place, Shown> steps;
  const Program program = lowered.program(rank);
  for (std::uint32_t lane = 0; lane < program.lanes.size(); ++lane)
    for (std::uint32_t s = 0; s < program.lanes[lane].steps.size(); ++s) {
      const Step& step = program.lanes[lane].steps[s];
      const bool moves = step.kind == StepKind::copy || step.kind == StepKind::reduce;
      if (!moves && lowered.header.protocol == Protocol::inlined) continue;  // the flag rides with the payload
      std::uint32_t chunks = 1;
      for (const auto* operands : {&step.sources, &step.destinations})
        for (const Operand& operand : *operands)
          if (operand.buffer != Buffer::link) chunks = std::max(chunks, operand.count);
      for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
        steps[{lane, s, chunk}] = {describe(step), moves ? bytes_of(lowered.header, step, count, chunk) : 0, 0};
    }
  return steps;
}

std::int64_t nanoseconds(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

}  // namespace

std::map<std::uint32_t, std::vector<json>> by_rank(const json& timeline) {
  std::map<std::uint32_t, std::vector<json>> ranks;
  for (const json& event : timeline.at("traceEvents"))
    if (event.at("ph") == "X") ranks[event.at("pid").get<std::uint32_t>()].push_back(event);
  return ranks;
}

std::string wrong_order(const std::vector<json>& events) {
  std::map<std::uint64_t, std::int64_t> ends;
  for (const json& event : events) {
    std::int64_t& end = ends[event.at("tid").get<std::uint64_t>()];
    const std::int64_t begin = nanoseconds(event.at("ts"));
    if (begin < end) return "begins before the one before it has ended: " + event.dump();
    end = begin + nanoseconds(event.at("dur"));
  }
  return "";
}

std::string wrong_steps(const Plan& lowered, std::uint32_t rank, std::uint64_t count, std::size_t calls, const std::vector<json>& events) {
  const std::string of = "of " + std::to_string(count) + " ";
  std::map<std::uint64_t, std::map<Place, Shown>> shown;
  std::map<std::uint64_t, std::uint64_t> pieces;
  for (const json& event : events) {
    const json& args = event.at("args");
    if (event.at("cat") == "stall" || args.at("of").get<std::string>().find(of) == std::string::npos) continue;
    const auto call = args.at("call").get<std::uint64_t>();
    Shown& step = shown[call][{event.at("tid").get<std::uint32_t>(), args.at("step").get<std::uint32_t>(), args.at("chunk").get<std::uint32_t>()}];
    if (args.at("piece").get<std::uint64_t>() != step.pieces) return "a piece is left out: " + event.dump();
    step.name = event.at("name").get<std::string>();
    step.bytes += args.at("bytes").get<std::uint64_t>();
    ++step.pieces;
    pieces[call] = std::max(pieces[call], step.pieces);
    if (!step.name.starts_with(event.at("cat").get<std::string>())) return "of another kind: " + event.dump();
  }
  if (shown.size() != calls) return std::to_string(shown.size()) + " calls of " + std::to_string(count) + " elements instead of " + std::to_string(calls);
  for (const auto& [call, steps] : shown) {
    std::map<Place, Shown> plan = expected(lowered, rank, count);
    for (auto& [place, step] : plan) step.pieces = pieces[call];
    if (steps.size() != plan.size())
      return "call " + std::to_string(call) + " shows " + std::to_string(steps.size()) + " of " + std::to_string(plan.size()) + " steps";
    for (const auto& [place, step] : plan)
      if (const auto found = steps.find(place); found == steps.end() || found->second != step)
        return "rank " + std::to_string(rank) + ", '" + step.name + "' of " + std::to_string(step.bytes) + " bytes shows as " +
               (found == steps.end() ? "nothing" : "'" + found->second.name + "' of " + std::to_string(found->second.bytes));
  }
  return "";
}

void check_timeline(const TimelineRun& how) {
  INFO(how.algorithm << " of " << how.ranks << " ranks" << (how.flags.empty() ? "" : " " + how.flags[0]));
  const json file = planned("all_reduce", how.ranks, "64K", how.algorithm,
                            how.algorithm.starts_with("direct") ? std::vector<std::string>{"--symmetric"} : std::vector<std::string>{});
  REQUIRE(file.is_object());
  const auto plan = read_plan(file.dump());
  REQUIRE(plan);
  const std::string timeline = write_file("timeline.json", "");
  std::vector<std::string> command{bench_program(), "all_reduce", "-n", std::to_string(how.ranks), "-b", "64", "-e", "256K", "-f", "64", "--iters", "3",
                                   "--plan", write_file("plan.json", file.dump()), "--trace", timeline};
  command.insert(command.end(), how.flags.begin(), how.flags.end());
  const Finished finished = run(command);
  INFO(finished.out << finished.err);
  REQUIRE(finished.code == 0);
  CHECK(finished.err == "");
  CHECK(finished.out.find("0 OK") != std::string::npos);
  CHECK(finished.out.find("events of " + std::to_string(how.ranks) + " ranks in " + timeline) != std::string::npos);
  CHECK(finished.out.find("dropped") == std::string::npos);
  const auto events = by_rank(read_timeline(timeline));
  REQUIRE(events.size() == static_cast<std::size_t>(how.ranks));
  const Plan lowered = lower(how.direct ? *plan : insert_shadows(*plan), how.keeps_links);
  for (const auto& [rank, own] : events) {
    CHECK(wrong_order(own) == "");
    const std::size_t calls = 20 * (static_cast<std::size_t>(plan->header.out_of_place) + static_cast<std::size_t>(plan->header.in_place));
    for (const std::uint64_t bytes : {64u, 4096u, 262144u}) CHECK(wrong_steps(lowered, rank, bytes / element, calls, own) == "");
    CHECK(std::any_of(own.begin(), own.end(), [](const json& event) { return event.at("cat") == "wait" || event.at("cat") == "stall"; }));
    CHECK(std::any_of(own.begin(), own.end(), [](const json& event) { return event.at("cat") == "reduce" && event.at("dur").get<double>() > 0; }));
  }
}

json read_timeline(const std::string& file) {
  std::ifstream text(file);
  json timeline = json::parse(text, nullptr, false);
  return timeline.is_object() ? timeline : json();
}

std::vector<std::string> names(const json& timeline, const std::string& what) {
  std::vector<std::string> found;
  for (const json& event : timeline.at("traceEvents"))
    if (event.at("ph") == "M" && event.at("name") == what) found.push_back(event.at("args").at("name").get<std::string>());
  return found;
}
