// What traced calls record: every step of their plans, in order, and right results all the same.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t room = 1u << 16;

/// Whether every step that the plan has ran once for each piece of each call; an inlined plan's copies and reductions. What ranks share out another may
/// have made.
std::string missing_steps(const Trace& trace) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>>> calls;  // by plan and number
  std::set<std::uint32_t> signalling;  // plans that aren't inlined
  for (const TraceEvent& event : trace.events) {
    if (event.kind == TraceKind::signal || event.kind == TraceKind::wait) signalling.insert(event.plan);
    if (event.kind == TraceKind::stall || event.chunk != 0) continue;
    const std::string& words = trace.plans.at(event.plan).lanes.at(event.lane).at(event.step);
    if (!words.starts_with(to_string(event.kind))) return to_string(event.kind) + " in the place of '" + words + "'";
    if (words.find("(once") != std::string::npos) continue;
    if (!calls[{event.plan, event.call}].insert({event.lane, event.step, event.piece}).second) return "'" + words + "' twice for a piece";
  }
  for (const auto& [call, steps] : calls) {
    const auto& lanes = trace.plans[call.first].lanes;
    const bool all = signalling.count(call.first) != 0;
    std::uint64_t in_plan = 0;
    for (const auto& lane : lanes)
      in_plan += static_cast<std::uint64_t>(std::count_if(lane.begin(), lane.end(), [&](const std::string& step) {
        if (step.find("(once") != std::string::npos) return false;
        return all || step.starts_with("copy") || step.starts_with("reduce");
      }));
    std::uint64_t pieces = 0;
    for (const auto& [lane, step, piece] : steps) pieces = std::max(pieces, piece + 1);
    if (steps.size() != in_plan * pieces)
      return trace.plans[call.first].call + ": " + std::to_string(steps.size()) + " steps, expected " + std::to_string(in_plan * pieces);
  }
  return "";
}

/// Whether events of a lane come one after another, but for what a rank copies for itself while it waits.
std::string wrong_order(const Trace& trace) {
  std::map<std::tuple<std::uint32_t, bool, std::uint32_t>, std::vector<TraceEvent>> lanes;
  for (const TraceEvent& event : trace.events) {
    const TracePlan& plan = trace.plans.at(event.plan);
    auto& before = lanes[{plan.peer, plan.receives, event.lane}];
    if (event.end_ns < event.begin_ns || (!before.empty() && event.end_ns < before.back().end_ns)) return "an event ends too early";
    const bool waits = event.kind == TraceKind::wait || event.kind == TraceKind::stall;
    for (; !before.empty() && before.back().end_ns > event.begin_ns; before.pop_back())
      if (!waits || before.back().kind != TraceKind::copy || before.back().begin_ns < event.begin_ns) return "an event begins before the one before has ended";
    before.push_back(event);
  }
  return "";
}

std::string wrong_with(const Trace& trace) {
  if (trace.dropped != 0) return std::to_string(trace.dropped) + " events dropped";
  if (auto wrong = missing_steps(trace); !wrong.empty()) return wrong;
  return wrong_order(trace);
}

/// Collectives of some sizes, each traced; "" when results and traces are right.
std::string traced_collectives(Communicator& communicator, bool symmetric) {
  std::uint64_t seed = 5;
  for (const Collective collective : moving_collectives)
    for (const std::uint64_t count : {1u, 5u, 257u, sanitized ? 60'007u : 300'007u})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::premul_sum}) {
        const Shape shape{collective, DataType::f32, op, 0, 0, communicator.size() - 1, count};
        if (!is_reduction(collective) && op != ReduceOp::sum) continue;
        if (auto started = communicator.start_trace(room); !started) return to_string(started.error());
        for (const bool in_place : {false, true})
          if (auto wrong = perform(communicator, Trial{shape, in_place, ++seed, symmetric}); !wrong.empty()) return wrong;
        const auto trace = communicator.stop_trace();
        if (!trace) return to_string(trace.error());
        if (trace->rank != communicator.rank()) return "of rank " + std::to_string(trace->rank);
        if (communicator.size() > 1 && trace->events.empty()) return "no events";
        if (auto wrong = wrong_with(*trace); !wrong.empty()) return std::string(to_string(collective)) + " of " + std::to_string(count) + ": " + wrong;
      }
  return "";
}

}  // namespace

TEST_CASE("a traced call gives right results and leaves an event for every step of its plan", "[threads]") {
  const auto ordinary = [](Communicator& communicator) { return traced_collectives(communicator, false); };
  const auto symmetric = [](Communicator& communicator) { return traced_collectives(communicator, true); };
  SECTION("as threads") {
    for (const std::uint32_t ranks : {1u, 2u, 3u}) CHECK(complaints(run_threads(ranks, ordinary)) == "");
  }
  SECTION("as processes") {
    for (const char* algorithm : {"", "ring", "tree", "direct_one_shot"}) CHECK(complaints(run_processes(3, ordinary, forced(algorithm))) == "");
    CHECK(complaints(run_processes(2, symmetric)) == "");
  }
}

TEST_CASE("a reduction's event says how many bytes it combined, a wait's how long it blocked", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 100'000;
    constexpr auto late = std::chrono::milliseconds(3);
    std::vector<float> values(count, 1);
    std::uint8_t word = 0;
    const Call call{Collective::all_reduce, values.data(), values.data(), count};
    if (auto started = communicator.start_trace(room); !started) return to_string(started.error());
    if (communicator.rank() == 1) {
      if (auto told = communicator.recv(&word, 1, DataType::u8, 0); !told) return to_string(told.error());
      if (auto done = communicator.run(call); !done) return to_string(done.error());
    } else {
      Work work = communicator.start(call);
      while (communicator.flight_record().find("running") == std::string::npos) {}
      std::this_thread::sleep_for(late);  // it has looked for rank 1 in vain
      if (auto told = communicator.send(&word, 1, DataType::u8, 1); !told) return to_string(told.error());
      if (auto done = work.wait(); !done) return to_string(done.error());
    }
    const auto trace = communicator.stop_trace();
    if (!trace) return to_string(trace.error());
    std::uint64_t combined = 0;
    std::int64_t longest_ns = 0;
    for (const TraceEvent& event : trace->events) {
      const TracePlan& plan = trace->plans.at(event.plan);
      if (plan.peer != TracePlan::no_peer) continue;
      if (plan.call != "all_reduce of 100000 f32 (sum)" || plan.algorithm != "ring") return "another call: " + plan.call + " by " + plan.algorithm;
      if (event.kind == TraceKind::reduce) combined += event.bytes;
      else if (event.kind != TraceKind::copy && event.bytes != 0) return "bytes of what moves none";
      if (event.kind == TraceKind::wait) longest_ns = std::max(longest_ns, event.end_ns - event.begin_ns);
    }
    const std::uint64_t half = count * 4 / 2;  // in a ring of two every rank combines one
    if (combined + 64 < half || combined > half + 64) return std::to_string(combined) + " bytes combined";
    if (communicator.rank() == 0 && longest_ns < std::chrono::nanoseconds(late).count()) return "waited for " + std::to_string(longest_ns) + " ns";
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, forced("ring"))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, forced("ring"))) == "");
}

TEST_CASE("messages, started calls and blocks of any lengths are traced as well", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    const std::uint32_t peer = 1 - communicator.rank();
    std::vector<std::int32_t> out(50'000, 3), in(50'000, 0), sums(1000, 1);
    if (auto started = communicator.start_trace(room); !started) return to_string(started.error());
    Work sent = communicator.start_send(out.data(), out.size(), DataType::i32, peer);
    Work summed = communicator.start(Call{Collective::all_reduce, sums.data(), sums.data(), sums.size(), DataType::i32});
    if (auto done = communicator.recv(in.data(), in.size(), DataType::i32, peer); !done) return to_string(done.error());
    for (Work* work : {&sent, &summed})
      if (auto done = work->wait(); !done) return to_string(done.error());
    const std::uint64_t counts[] = {100, 40'000};
    std::vector<std::int32_t> blocks_out(40'100, 1), blocks_in(communicator.rank() == 0 ? 200 : 80'000, 0);
    const std::uint64_t mine = counts[communicator.rank()];
    const std::uint64_t received[] = {mine, mine};
    if (auto done = communicator.all_to_all_v(blocks_out.data(), {counts}, blocks_in.data(), {received}, DataType::i32); !done) return to_string(done.error());
    const auto trace = communicator.stop_trace();
    if (!trace) return to_string(trace.error());
    if (in != out || sums[999] != 2 || blocks_in.back() != 1) return "wrong values";
    std::uint64_t blocks = 0;
    std::set<std::pair<std::uint32_t, bool>> directions;
    for (const TraceEvent& event : trace->events) {
      const TracePlan& plan = trace->plans.at(event.plan);
      directions.insert({plan.peer, plan.receives});
      if (plan.call.starts_with("all_to_all_v")) blocks += event.bytes;
    }
    if (directions != std::set<std::pair<std::uint32_t, bool>>{{peer, false}, {peer, true}, {TracePlan::no_peer, false}}) return "not all directions";
    // its own block once, one that it sends and one that it receives
    if (blocks != (counts[communicator.rank()] + counts[peer] + mine) * 4) return std::to_string(blocks) + " bytes of blocks";
    return wrong_order(*trace);
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a trace that is full says how much it dropped, and results stay right", "[threads]") {
  auto ranks = Communicator::in_process(2);
  REQUIRE(ranks);
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto started = communicator.start_trace(3); !started) return to_string(started.error());
    std::vector<float> values(100'000, 1);
    for (int i = 0; i < 2; ++i)
      if (auto done = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32); !done) return to_string(done.error());
    const auto trace = communicator.stop_trace();
    if (!trace) return to_string(trace.error());
    if (values.front() != 4 || values.back() != 4) return "wrong values";
    if (trace->events.size() != 3 || trace->dropped == 0) return std::to_string(trace->events.size()) + " events";
    const std::string said = std::to_string(trace->dropped) + " events dropped";
    const std::string text = trace_events(*trace);
    return text.find(said) != std::string::npos && text.find("\"dropped_events\":" + std::to_string(trace->dropped)) != std::string::npos ? "" : text;
  };
  CHECK(complaints(run_each(*ranks, body)) == "");
}

TEST_CASE("what can't be traced is said, and a call under way when tracing begins is left out", "[threads]") {
  auto ranks = Communicator::in_process(2);
  REQUIRE(ranks);
  Communicator& first = ranks->front();
  CHECK(expect_error(first.start_trace(0), Errc::invalid_argument, {"0 events", "1 or more"}) == "");
  CHECK(expect_error(first.start_trace(std::uint64_t{1} << 60), Errc::out_of_resources, {"no memory", "1152921504606846976 events"}) == "");
  REQUIRE_FALSE(first.stop_trace());
  std::vector<float> values(4, 1), others(4, 1);
  const auto call_on = [](std::vector<float>& buffer) { return Call{Collective::all_reduce, buffer.data(), buffer.data(), buffer.size()}; };
  Work under_way = first.start(call_on(values));
  while (first.flight_record().find("running") == std::string::npos) {}
  REQUIRE(first.start_trace(room));
  CHECK(expect_error(first.start_trace(room), Errc::invalid_argument, {"already"}) == "");
  REQUIRE(ranks->back().run(call_on(others)));
  REQUIRE(under_way.wait());
  Work traced = first.start(call_on(values));
  REQUIRE(ranks->back().run(call_on(others)));
  REQUIRE(traced.wait());
  const auto trace = first.stop_trace();
  REQUIRE(trace);
  REQUIRE_FALSE(trace->events.empty());
  for (const TraceEvent& event : trace->events) CHECK(event.call == 2);
  CHECK(values.front() == 4);
}

TEST_CASE("what a rank recorded later keeps its plans when it is appended", "[threads]") {
  Trace trace, later;
  trace.plans = {TracePlan{"a", "x", TracePlan::no_peer, false, {{"copy input[0] -> output[0]"}}}};
  later.plans = {TracePlan{"b \"quoted\"", "y", TracePlan::no_peer, false, {{"signal"}}}};
  later.events = {TraceEvent{1000, 2500, 7, 0, 0, 0, 0, 0, 0, TraceKind::signal}};
  later.dropped = 2;
  trace.append(later);
  REQUIRE(trace.plans.size() == 2);
  CHECK(trace.events.at(0).plan == 1);
  CHECK(trace.dropped == 2);
  CHECK(trace_events(trace).find(R"("ts":1.000,"dur":1.500,"cat":"signal","name":"signal","args":{"call":7,)") != std::string::npos);
  CHECK(trace_events(trace).find(R"("of":"b \"quoted\"","algorithm":"y")") != std::string::npos);
}
