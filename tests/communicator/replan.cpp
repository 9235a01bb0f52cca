// Cores that move: the ranks probe their distance again at the same call, whatever they call, and plan anew where it has changed.
#include <vector>

#include "communicator/said.hpp"
#include "communicator/trial.hpp"
#include "rondo/topology.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t work_between_probes = 1 << 13;  ///< as in replan.cpp, where a small call counts as 1

/// The time that the model predicts for an exchange of flags.
double predicted_ns(const Communicator& communicator) {
  const auto plan = communicator.plan_for(Call{Collective::barrier});
  if (!plan) return 0;
  for (const Candidate& candidate : plan->considered)
    if (candidate.algorithm == plan->header.algorithm) return candidate.predicted_ns;
  return 0;
}

/// A call of all sorts, some started or in a group, each of which has the sum of what the ranks gave.
std::string one_of_many(Communicator& communicator, std::uint64_t round) {
  const std::size_t count = round % 3 == 0 ? 1 : 20'000;
  const auto ranks = static_cast<float>(communicator.size());
  std::vector<float> values(count, static_cast<float>(round % 7)), sums(count);
  const Call call{Collective::all_reduce, values.data(), sums.data(), count};
  Result<void> done;
  if (round % 4 == 0) {
    done = communicator.start(call).wait();
  } else if (round % 4 == 1) {
    communicator.group_begin();
    (void)communicator.run(call);
    (void)communicator.barrier();
    done = communicator.group_end();
  } else {
    done = communicator.run(call);
  }
  if (!done) return to_string(done.error());
  const float expected = ranks * static_cast<float>(round % 7);
  return sums.front() == expected && sums.back() == expected ? "" : "a wrong sum in round " + std::to_string(round);
}

std::string meet(Communicator& communicator, std::uint64_t times) {
  for (std::uint64_t call = 0; call < times; ++call)
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
  return "";
}

/// Calls for more than from one probe to the next and less than twice that, some of them of all sorts: one of 20,000 f32 counts as 40.
std::string call_much(Communicator& communicator) {
  if (auto wrong = meet(communicator, work_between_probes - 2000); !wrong.empty()) return wrong;
  for (std::uint64_t round = 0; round < 300; ++round)
    if (auto wrong = one_of_many(communicator, round); !wrong.empty()) return wrong;
  return "";
}

std::string all_plan_alike(Communicator& communicator) {
  const double own = predicted_ns(communicator);
  std::vector<double> all(communicator.size());
  if (auto done = communicator.all_gather(&own, all.data(), 1, DataType::f64); !done) return to_string(done.error());
  for (const double other : all)
    if (other != own) return "ranks predict " + std::to_string(own) + " and " + std::to_string(other) + " ns";
  return "";
}

std::string follows(Communicator& communicator) {
  const double near = predicted_ns(communicator);
  if (auto done = communicator.barrier(); !done) return to_string(done.error());
  probed_for_tests = 600;
  if (auto wrong = call_much(communicator); !wrong.empty()) return wrong;
  const double far = predicted_ns(communicator);
  if (near == 0 || far < 2 * near) return "60 ns: a barrier of " + std::to_string(near) + " ns; 600 ns: " + std::to_string(far);
  if (auto wrong = all_plan_alike(communicator); !wrong.empty()) return wrong;
  probed_for_tests = 900;  // no move, and no reason to plan anew
  if (auto wrong = call_much(communicator); !wrong.empty()) return wrong;
  return predicted_ns(communicator) == far ? "" : "900 ns for 600: planned anew";
}

std::string splits(Communicator& communicator) {
  probed_for_tests = 600;
  if (auto wrong = call_much(communicator); !wrong.empty()) return wrong;
  auto part = communicator.split(0, 0);
  if (!part) return to_string(part.error());
  if (predicted_ns(**part) != predicted_ns(communicator)) return "the part plans for another distance";
  probed_for_tests = 60;
  if (auto wrong = call_much(**part); !wrong.empty()) return wrong;
  return predicted_ns(**part) * 2 < predicted_ns(communicator) ? all_plan_alike(**part) : "the part doesn't follow";
}

/// So many small calls, a communicator's first, that the next one is behind a probe.
std::string up_to_a_probe(Communicator& communicator) { return meet(communicator, work_between_probes); }

/// Ranks probe where each has a processor.
bool may_probe() {
  const auto machine = discover_topology();
  if (machine && machine->usable_cpus(0) >= 2) return true;
  WARN("one processor for two ranks: they don't probe, and this isn't tested");
  return false;
}

}  // namespace

TEST_CASE("ranks that have moved plan anew, all before the same call", "[threads]") {
  if (!may_probe()) return;
  const Said near(60);
  SECTION("as threads") CHECK(complaints(run_threads(2, follows)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, follows)) == "");
  SECTION("coalescing") {
    CommunicatorOptions options;
    options.coalesce_bytes = 64 << 10;
    CHECK(complaints(run_processes(2, follows, options)) == "");
  }
  SECTION("as a part of a communicator") CHECK(complaints(run_processes(2, splits)) == "");
}

TEST_CASE("ranks whose distance couldn't be told at the beginning ask again soon") {
  if (!may_probe()) return;
  const Said nothing(5000);  // more than is believed
  const auto body = [](Communicator& communicator) -> std::string {
    const double assumed = predicted_ns(communicator);
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    probed_for_tests = 600;
    if (auto wrong = meet(communicator, work_between_probes + 1); !wrong.empty()) return wrong;
    const double far = predicted_ns(communicator);
    if (far < 2 * assumed) return "assumed: a barrier of " + std::to_string(assumed) + " ns; 600 ns: " + std::to_string(far);
    auto part = communicator.split(0, 0);
    if (!part) return to_string(part.error());
    return predicted_ns(**part) == predicted_ns(communicator) ? all_plan_alike(communicator) : "a part plans for another distance";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a call that makes no sense fails at once where a probe would come before it") {
  if (!may_probe()) return;
  const Said near(60);
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto wrong = up_to_a_probe(communicator); !wrong.empty()) return wrong;
    float value = 1;
    if (communicator.rank() == 0)
      if (auto wrong = expect_error(communicator.all_reduce(nullptr, &value, 1, DataType::f32), Errc::invalid_argument, {"null"}); !wrong.empty()) return wrong;
    if (auto done = communicator.all_reduce(&value, &value, 1, DataType::f32); !done) return to_string(done.error());
    if (value != 2) return "a wrong sum";
    const std::uint64_t calls = calls_of(communicator);
    return calls == work_between_probes + 3 ? "" : std::to_string(calls) + " calls: no probe, or more than one";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a rank that waits in a probe learns that its peer has left, and what the call was that it waited in") {
  if (!may_probe()) return;
  const Said near(60);
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto wrong = up_to_a_probe(communicator); !wrong.empty()) return wrong;
    if (communicator.rank() == 1) return "";
    float value = 1;
    return expect_error(communicator.all_reduce(&value, &value, 1, DataType::f32), Errc::peer_failed,
                        {"rank 1", "left", "barrier", "which a probe makes before the next call"});
  };
  CHECK(complaints(run_processes(2, body)) == "");
}
