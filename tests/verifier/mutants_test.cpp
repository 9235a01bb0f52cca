// The verifier against the interpreter, which shares nothing with it: on every plan, and on every plan one change away,
// both must say the same. Wrong forms count apart, since check_form finds them before either is asked.
#include <algorithm>
#include <map>
#include <set>

#include "planner/requests.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "verifier/hand_plans.hpp"
#include "verifier/interpreter.hpp"
#include "verifier/mutants.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t seed = 20240229;

struct Tally {
  std::size_t wrong_form = 0;
  std::size_t unchanged = 0;
  std::size_t changed = 0;
  std::size_t disagreements = 0;
  std::map<std::string, std::size_t> by_fault;  // what the interpreter found

  std::size_t judged() const { return unchanged + changed; }
  std::string text() const {
    std::string text = std::to_string(judged()) + " judged by both: " + std::to_string(unchanged) + " mean the same, " +
                       std::to_string(changed) + " do not (";
    for (const auto& [name, count] : by_fault) text += name + " " + std::to_string(count) + ", ";
    text += "); " + std::to_string(wrong_form) + " more have a wrong form; " + std::to_string(disagreements) +
            " disagreements; seed " + std::to_string(seed);
    return text;
  }
};

/// Asks both about one plan. Prints a plan on which they differ.
void compare(const std::string& name, const Plan& plan, Tally& tally) {
  const Proof proof = verify(plan);
  if (!check_form(plan)) {
    ++tally.wrong_form;
    CHECK(!proof.proved());
    return;
  }
  const Judgement judged = judge(plan);
  ++(judged.right() ? tally.unchanged : tally.changed);
  if (!judged.right()) ++tally.by_fault[to_string(judged.flaw)];
  if (proof.proved() == judged.right()) return;
  if (++tally.disagreements > 20) return;
  FAIL_CHECK(name << "\n  interpreter: " << (judged.right() ? "right" : judged.where)
                  << "\n  verifier: " << (proof.proved() ? "proved" : to_string(proof.violations[0])) << "\n"
                  << (tally.disagreements <= 3 ? write_plan(plan) : ""));
}

constexpr std::size_t all = 1'000'000;

/// The plan itself, `singles` plans one change away and `doubles` two changes away.
void compare_with_mutants(const NamedPlan& named, std::size_t singles, std::size_t doubles, Tally& tally) {
  const auto& [name, plan] = named;
  compare(name, plan, tally);
  for (const Mutant& mutant : some_mutants(plan, singles, seed))
    compare(name + "; " + mutant.description, mutant.plan, tally);
  for (const Mutant& mutant : double_mutants(plan, doubles, seed))
    compare(name + "; " + mutant.description, mutant.plan, tally);
}

void report(const Tally& tally) {
  WARN(tally.text());
  CHECK(tally.disagreements == 0);
}

}  // namespace

TEST_CASE("The verifier agrees with the interpreter on every mutant of plans made by hand") {
  Tally tally;
  for (const NamedPlan& named : hand_plans()) compare_with_mutants(named, all, 40, tally);
  report(tally);
  CHECK(tally.judged() > 5000);
  CHECK(tally.unchanged > 1000);
  CHECK(tally.by_fault.size() >= 4);
}

TEST_CASE("The verifier agrees with the interpreter on mutants of plans for one way of lying in memory") {
  Tally tally;
  for (const bool in_place : {true, false})
    for (NamedPlan named : hand_plans()) {
      if (named.plan.header.ranks > 3) continue;
      named.plan.header.in_place = in_place;
      named.plan.header.out_of_place = !in_place;
      compare_with_mutants({named.name + (in_place ? ", in place" : ", out of place"), named.plan}, 120, 20, tally);
    }
  report(tally);
  CHECK(tally.judged() > 1000);
}

TEST_CASE("The verifier agrees with the interpreter on mutants of rewritten plans") {
  Tally tally;
  for (const auto& [name, plan] : hand_plans()) {
    if (plan.header.protocol == Protocol::direct)
      compare_with_mutants({name + ", shadowed", insert_shadows(plan)}, 250, 20, tally);
    const Plan lowered = lower(plan);
    if (lowered.program(0) != plan.program(0)) compare_with_mutants({name + ", lowered", lowered}, 250, 20, tally);
  }
  report(tally);
  CHECK(tally.judged() > 1000);
}

namespace {

/// Every plan that some algorithm makes for few ranks, each once: sizes apart, many requests lead to one plan.
std::vector<NamedPlan> planner_plans() {
  std::vector<NamedPlan> plans;
  std::set<std::string> seen;
  const auto add = [&](const Request& request, const std::string& algorithm, bool mapped) {
    const auto plan = plan_of(request, algorithm, mapped);
    if (!plan) return;
    PlanHeader bare = plan->header;
    bare.min_bytes = bare.max_bytes = bare.piece_bytes = 0;
    std::vector<Program> programs;
    for (std::uint32_t rank = 0; rank < bare.ranks; ++rank) programs.push_back(plan->program(rank));
    if (!seen.insert(write_plan(Plan(bare, std::move(programs)))).second) return;
    plans.push_back({algorithm + " " + std::string(to_string(request.collective)) + " of " +
                         std::to_string(request.ranks) + (mapped ? "" : ", links"),
                     *plan});
  };
  for (std::uint32_t ranks = 2; ranks <= 4; ++ranks)
    for (const std::string_view algorithm : algorithm_names())
      for (const Collective collective : all_collectives())
        for (const std::uint64_t bytes : {8u, 1u << 14, 1u << 24})
          for (const bool mapped : {true, false})
            add(request_of(collective, ranks, bytes, ranks > 2 ? 1 : 0), std::string(algorithm), mapped);
  return plans;
}

}  // namespace

TEST_CASE("The verifier agrees with the interpreter on mutants of the planner's plans") {
  Tally tally;
  const std::vector<NamedPlan> plans = planner_plans();
  for (const NamedPlan& named : plans) compare_with_mutants(named, 150, 15, tally);
  WARN(plans.size() << " plans of the planner");
  report(tally);
  CHECK(tally.judged() > 1000);
}

TEST_CASE("The verifier agrees with the interpreter far away from plans that make sense") {
  // From each plan through mutants that still are right, several changes away, and their wrong neighbours.
  Tally tally;
  std::uint64_t draw = seed;
  std::vector<NamedPlan> starts = hand_plans();
  for (NamedPlan& plan : planner_plans()) starts.push_back(std::move(plan));
  for (NamedPlan walked : starts) {
    if (walked.plan.header.ranks > 3) continue;
    for (int steps = 0; steps < 8; ++steps)
      for (const Mutant& mutant : some_mutants(walked.plan, 8, ++draw)) {
        const std::string name = walked.name + "; " + mutant.description;
        compare(name, mutant.plan, tally);
        if (!check_form(mutant.plan) || !judge(mutant.plan).right()) continue;
        walked = {name, mutant.plan};
        break;
      }
  }
  report(tally);
  CHECK(tally.unchanged > 300);
}

}  // namespace rondo::test
