// The interpreter performs one order and argues that it stands for all (interpreter_judge.cpp). Here all are walked through,
// one by one, for as many plans and mutants as a minute allows, and must say the same.
#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "verifier/hand_plans.hpp"
#include "verifier/interpreter.hpp"
#include "verifier/mutants.hpp"
#include "verifier/planner_plans.hpp"

extern "C" [[gnu::weak]] void __asan_init();

namespace rondo::test {
namespace {

constexpr std::uint64_t walk_seed = 20240301;
constexpr std::uint64_t most_states_of_a_plan = 150'000;
constexpr std::uint64_t most_states_of_a_mutant = 1'000'000;
constexpr std::uint64_t states_of_a_hand_plan = 1'000'000;  // it and its mutants
constexpr std::uint64_t states_of_a_planners_plan = 100'000;

/// A walk is all small allocations, ten times slower under AddressSanitizer: there it gets a tenth.
std::uint64_t share(std::uint64_t number) {
  return __asan_init != nullptr ? number / 10 : number;
}

/// The numbers of pieces that the plan is walked through with: up to three, as few as it takes; none if one piece is too many.
/// `states`: what the plan itself has then.
std::vector<std::uint32_t> affordable_pieces(const Plan& plan, std::uint64_t states_it_gets, std::uint64_t& states) {
  std::vector<std::uint32_t> pieces;
  const std::uint32_t most = plan.header.protocol == Protocol::inlined ? 1 : 3;
  for (std::uint32_t count = 1; count <= most && states <= states_it_gets / 20; ++count) {
    const Exhaustive walked = walk_all(plan, {count}, most_states_of_a_plan);
    if (!walked.complete || states + walked.states > most_states_of_a_plan) break;
    states += walked.states;
    pieces.push_back(count);
  }
  return pieces;
}

struct Walked {
  std::size_t plans = 0;
  std::size_t mutants = 0;
  std::size_t right = 0;
  std::size_t undecided = 0;  // more states than a mutant gets
  std::uint64_t states = 0;
  std::set<Flaw> flaws;
};

void compare(const std::string& name, const Plan& plan, const std::vector<std::uint32_t>& pieces, Walked& sum) {
  const Judgement judged = judge(plan, pieces);
  const Exhaustive walked = walk_all(plan, pieces, most_states_of_a_mutant, judged.flaw);
  INFO(name << "; judged " << judged.where);
  sum.states += walked.states;
  if (!walked.complete) {
    ++sum.undecided;
    return;
  }
  ++sum.mutants;
  sum.right += judged.right();
  sum.flaws.insert(judged.flaw);
  CHECK(walked.flaws.empty() == judged.right());
  if (!judged.right()) CHECK(walked.shows(judged.flaw));
}

/// All mutants of a plan of few states, fewer of one with many.
void walk_through(const NamedPlan& named, std::uint64_t states_it_gets, Walked& sum) {
  std::uint64_t states = 0;
  const std::vector<std::uint32_t> pieces = affordable_pieces(named.plan, states_it_gets, states);
  if (pieces.empty()) {
    WARN(named.name << " has too many states");
    return;
  }
  ++sum.plans;
  for (const Mutant& mutant : some_mutants(named.plan, states_it_gets / states, walk_seed))
    if (limits_of(mutant.plan).impossible.empty()) compare(named.name + "; " + mutant.description, mutant.plan, pieces, sum);
}

void check_all(const std::vector<NamedPlan>& plans, std::uint64_t states_each_gets, std::size_t least_plans, std::size_t least_mutants) {
  Walked sum;
  for (const NamedPlan& named : plans) walk_through(named, share(states_each_gets), sum);
  WARN(sum.plans << " plans, " << sum.mutants << " mutants, " << sum.right << " of them right, through " << sum.states << " states; "
                 << sum.undecided << " mutants had too many");
  CHECK(sum.plans >= least_plans);
  CHECK(sum.mutants >= share(least_mutants));
  CHECK(sum.right >= share(least_mutants) / 5);
  CHECK(sum.undecided <= sum.mutants / 100);
  CHECK(sum.flaws.size() >= 5);
}

std::vector<NamedPlan> hand_plans_of(std::uint32_t ranks) {
  std::vector<NamedPlan> plans = hand_plans();
  plans.erase(std::remove_if(plans.begin(), plans.end(), [&](const NamedPlan& named) { return named.plan.header.ranks != ranks; }), plans.end());
  return plans;
}

}  // namespace

TEST_CASE("The interpreter's one order stands for all interleavings of two ranks") {
  check_all(hand_plans_of(2), states_of_a_hand_plan, 17, 1200);
}

TEST_CASE("The interpreter's one order stands for all interleavings of three ranks") {
  check_all(hand_plans_of(3), states_of_a_hand_plan, 16, 1400);
}

TEST_CASE("The interpreter's one order stands for all interleavings of four ranks") {
  check_all(hand_plans_of(4), states_of_a_hand_plan, 15, 650);
}

TEST_CASE("The interpreter's one order stands for all interleavings of the planner's plans") {
  check_all(planner_plans(), states_of_a_planners_plan, 80, 2500);
}

}  // namespace rondo::test
