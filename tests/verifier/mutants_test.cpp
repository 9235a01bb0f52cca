// The verifier against the interpreter, which shares nothing with it: on every plan, and on every plan one change away,
// both must say the same. What check_form refuses must be wrong to the interpreter too, or something that the IR rules out.
#include <algorithm>
#include <map>

#include "planner/requests.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "verifier/hand_plans.hpp"
#include "verifier/interpreter.hpp"
#include "verifier/mutants.hpp"
#include "verifier/planner_plans.hpp"
#include "verifier/prove.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t mutants_seed = 20240229;

using Counts = std::map<std::string, std::size_t>;

std::string listed(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return text.empty() ? "none" : text;
}

struct Tally {
  std::size_t unchanged = 0;
  std::size_t changed = 0;
  std::size_t refused = 0;  // by check_form, all of the following:
  std::size_t refused_changed = 0;
  Counts refused_harmless;    // only ruled out: by what
  Counts refused_impossible;  // not performed: why
  std::size_t disagreements = 0;
  Counts by_fault;  // what the interpreter found

  std::size_t judged() const { return unchanged + changed; }
  std::string text() const {
    return std::to_string(judged()) + " judged by both: " + std::to_string(unchanged) + " mean the same, " + std::to_string(changed) +
           " do not (" + listed(by_fault) + "). " + std::to_string(refused) + " more have a wrong form: " + std::to_string(refused_changed) +
           " don't mean the same; can't be performed: " + listed(refused_impossible) + "; do no harm but are ruled out: " +
           listed(refused_harmless) + ". " + std::to_string(disagreements) + " disagreements; seed " + std::to_string(mutants_seed);
  }
};

void disagree(Tally& tally, const std::string& what, const Plan& plan) {
  if (++tally.disagreements > 20) return;
  FAIL_CHECK(what << "\n" << (tally.disagreements <= 3 ? write_plan(plan) : ""));
}

/// A plan that check_form refused: is it as bad as that?
void judge_refused(const std::string& name, const Plan& plan, const std::string& why, const Limits& limits, Tally& tally) {
  ++tally.refused;
  if (!limits.impossible.empty()) ++tally.refused_impossible[limits.impossible];
  else if (!judge(plan).right()) ++tally.refused_changed;
  else if (!limits.forbidden.empty()) ++tally.refused_harmless[limits.forbidden];
  else disagree(tally, name + "\n  interpreter: right\n  check_form: " + why, plan);
}

/// Asks both about one plan. Prints a plan on which they differ.
void compare(const std::string& name, const Plan& plan, Tally& tally) {
  const Proof proof = verify(plan);
  const Limits limits = limits_of(plan);
  if (const auto form = check_form(plan); !form) {
    CHECK(!proof.proved());
    return judge_refused(name, plan, form.error().detail, limits, tally);
  }
  const std::string beyond = limits.impossible + limits.forbidden;
  if (!beyond.empty()) return disagree(tally, name + "\n  check_form lets pass: " + beyond, plan);
  const Judgement judged = judge(plan);
  ++(judged.right() ? tally.unchanged : tally.changed);
  if (!judged.right()) ++tally.by_fault[to_string(judged.flaw)];
  if (!judged.right() && verifier::prove_by_symmetry(plan)) return disagree(tally, name + "\n  interpreter: " + judged.where + "\n  by symmetry: proved", plan);
  if (proof.proved() == judged.right()) return;
  disagree(tally, name + "\n  interpreter: " + (judged.right() ? "right" : judged.where) + "\n  verifier: " +
                      (proof.proved() ? "proved" : to_string(proof.violations[0])), plan);
}

constexpr std::size_t all = 1'000'000;

/// The plan itself, `singles` plans one change away and `doubles` two changes away.
void compare_with_mutants(const NamedPlan& named, std::size_t singles, std::size_t doubles, Tally& tally) {
  const auto& [name, plan] = named;
  compare(name, plan, tally);
  for (const Mutant& mutant : some_mutants(plan, singles, mutants_seed))
    compare(name + "; " + mutant.description, mutant.plan, tally);
  for (const Mutant& mutant : double_mutants(plan, doubles, mutants_seed))
    compare(name + "; " + mutant.description, mutant.plan, tally);
}

void report(const Tally& tally) {
  WARN(tally.text());
  CHECK(tally.disagreements == 0);
  CHECK(tally.refused_changed > tally.refused / 4);  // the interpreter does look at what is refused
}

}  // namespace

TEST_CASE("A slot less and a slot more are among the mutants however few are drawn") {
  for (const auto& [name, plan] : hand_plans()) {
    INFO(name);
    const std::vector<Mutant> mutants = some_mutants(plan, 3, mutants_seed);
    const auto drawn = [&](std::uint32_t depth) {
      return std::any_of(mutants.begin(), mutants.end(), [&](const Mutant& mutant) { return mutant.plan.header.depth == depth; });
    };
    CHECK(drawn(plan.header.depth + 1));
    if (plan.header.depth > 1) CHECK(drawn(plan.header.depth - 1));
  }
}

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

TEST_CASE("Each of a thousand changes of meaning to plans of 8 to 16 ranks is caught") {
  Tally tally;
  for (const auto& [ranks, drawn] : std::map<std::uint32_t, std::size_t>{{8, 16}, {12, 8}, {16, 6}}) {
    if (sanitized && ranks > 8) continue;
    for (const std::string_view algorithm : algorithm_names())
      for (const Collective collective : all_collectives()) {
        const GroupSizes groups = groupings(algorithm, ranks).back();
        const auto plan = plan_of(request_of(collective, ranks, 1u << 20, ranks / 3), std::string(algorithm), ranks != 12, groups);
        if (!plan) continue;
        compare_with_mutants({std::string(algorithm) + " " + std::string(to_string(collective)), *plan}, drawn, 0, tally);
      }
  }
  report(tally);
  CHECK(tally.changed + tally.refused_changed >= (sanitized ? 300 : 1000));
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
  std::uint64_t draw = mutants_seed;
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
