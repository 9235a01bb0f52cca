// Which plan is chosen, and what is said about the others.
#include <algorithm>
#include <cmath>

#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

std::string chosen(const Request& request, const CostModel& cost = near_cores()) {
  const auto plan = make_plan(Topology{}, cost, limits_of_shared_memory(), request);
  return plan ? plan->header.algorithm : to_string(plan.error());
}

const Candidate* find(const Plan& plan, const std::string& algorithm) {
  for (const Candidate& candidate : plan.considered)
    if (candidate.algorithm == algorithm) return &candidate;
  return nullptr;
}

}  // namespace

TEST_CASE("two near ranks reduce tiny messages inline, middle ones in one shot, large ones in two") {
  CHECK(chosen(request_of(Collective::all_reduce, 2, 4)) == "inline");
  CHECK(chosen(request_of(Collective::all_reduce, 2, 16 << 10)) == "one_shot");
  CHECK(chosen(request_of(Collective::all_reduce, 2, 4 << 20)) == "two_shot");
  CHECK(chosen(request_of(Collective::all_reduce, 2, 256 << 20)) == "two_shot");
}

TEST_CASE("with more ranks two-shot begins earlier, since one-shot reads everything from everybody") {
  const auto crossing = [](std::uint32_t ranks) {
    std::uint64_t bytes = 1 << 10;
    while (chosen(request_of(Collective::all_reduce, ranks, bytes)) != "two_shot") bytes *= 2;
    return bytes;
  };
  CHECK(crossing(8) < crossing(2));
  CHECK(crossing(8) >= 2 << 10);
}

TEST_CASE("between two far cores one shot serves larger messages than between near ones") {
  CostModel far = near_cores();
  set_latency(far, 275, "made up");
  CHECK(chosen(request_of(Collective::all_reduce, 2, 4), far) == "inline");
  CHECK(chosen(request_of(Collective::all_reduce, 2, 64 << 10)) == "two_shot");
  CHECK(chosen(request_of(Collective::all_reduce, 2, 64 << 10), far) == "one_shot");
  CHECK(chosen(request_of(Collective::all_reduce, 8, 4 << 20), far) == "two_shot");
}

TEST_CASE("a flag that takes a little longer than at the one distance that is known makes no byte dearer") {
  CostModel cost = near_cores();
  cost.core.links = {{150, 0.06, 0.08, 0.08}};
  const auto pull = [&](double latency_ns) {
    set_latency(cost, latency_ns, "made up");
    return cost.pull_ns_per_byte - cost.core.copy_ns_per_byte;
  };
  const double known = pull(150);
  for (const double latency_ns : {101.0, 149.0, 190.0, 224.0}) CHECK(pull(latency_ns) == known);
  CHECK(std::abs(pull(450) - 3 * known) < 1e-9);
  CHECK(std::abs(pull(50) - known / 3) < 1e-9);
  for (double latency_ns = 30; latency_ns < 600; latency_ns += 0.5) CHECK(pull(latency_ns + 0.5) - pull(latency_ns) < known / 50);
}

TEST_CASE("slots go past the caches where ranks are so far that memory is nearer, if that was measured and all are equally far") {
  CostModel cost = near_cores();
  // near 0.09 ns a byte through the caches and 0.18 past them, far 0.29 and 0.17
  cost.core.links = {{65, 0.042, 0.047, 0.047, 0.08, 0.1}, {270, 0.09, 0.2, 0.2, 0.08, 0.09}};
  const auto past_caches = [&](double latency_ns) {
    set_latency(cost, latency_ns, "made up");
    return cost.slots_past_caches;
  };
  CHECK_FALSE(past_caches(30));
  CHECK_FALSE(past_caches(65));
  CHECK(cost.publish_ns_per_byte == 0.047);
  CHECK(past_caches(270));
  CHECK(cost.publish_ns_per_byte == 0.09);
  CHECK(cost.pull_ns_per_byte == 0.08);
  CHECK(past_caches(300));
  CHECK_FALSE(past_caches(65));
  cost.levels = levels_of({2});
  CHECK_FALSE(past_caches(270));
  cost.levels.clear();
  cost.cores_per_rank = 0.5;
  CHECK_FALSE(past_caches(270));
  cost.cores_per_rank = 1;
  cost.core.links.front().past_publish_ns_per_byte = 0;
  CHECK_FALSE(past_caches(270));
  CHECK(cost.publish_ns_per_byte == 0.2);
}

TEST_CASE("what its writer's first cache still holds is dearer to read, the less so the more a call touches, where that was measured") {
  const auto price = [](std::uint64_t bytes, double fresh, const char* algorithm = "one_shot") {
    CostModel cost = near_cores();
    cost.core.links = {{.latency_ns = 65, .pull_ns_per_byte = 0.04, .publish_ns_per_byte = 0.04, .share_ns_per_byte = 0.04, .fresh_pull_ns_per_byte = fresh}};
    cost.ring_bytes = 1 << 20;
    set_latency(cost, 65, "made up");
    CHECK(cost.fresh_pull_ns_per_byte == (fresh > 0 ? fresh : 0.04));
    Request request = request_of(Collective::all_gather, 2, bytes);
    request.alias = Alias::none;
    const auto plan = make_plan(Topology{}, cost, limits_of_shared_memory(), request, algorithm);
    REQUIRE(plan);
    return plan->predicted_ns;
  };
  // A rank reads one block; its input, output and slots are four, of twice 32 KiB.
  CHECK(std::abs(price(2 << 10, 0.12) - price(2 << 10, 0) - 0.08 * (1 - 8.0 / 64) * (2 << 10)) < 1e-6);
  CHECK(price(32 << 10, 0.12) == price(32 << 10, 0));
  CHECK(price(4 << 10, 0) == price(4 << 10, 0.04));
  // A model made by hand needn't know it.
  const auto by_hand = [](double fresh) {
    CostModel cost = near_cores();
    cost.fresh_pull_ns_per_byte = fresh;
    const auto plan = make_plan(Topology{}, cost, limits_of_shared_memory(), request_of(Collective::all_gather, 2, 4 << 10), "one_shot");
    return plan ? plan->predicted_ns : -1.0;
  };
  CHECK(by_hand(0) == by_hand(near_cores().pull_ns_per_byte));
}

TEST_CASE("the kernel's copies of buffers that nobody rewrites are cheaper while a core's caches hold them, and no choice asks which they are") {
  const auto plan_for = [](Collective collective, std::uint64_t bytes, std::optional<bool> rewritten, std::string_view algorithm = {},
                           Alias alias = Alias::none) {
    const CostModel cost = near_cores();
    Request request = request_of(collective, 2, bytes);
    request.kernel_copies = true;
    request.alias = alias;
    request.rewritten = rewritten;
    auto plan = algorithm.empty() ? make_plan(Topology{}, cost, limits_of_shared_memory(), request)
                                  : make_plan(Topology{}, cost, limits_of_shared_memory(), request, algorithm);
    REQUIRE(plan);
    return *plan;
  };
  const auto price = [&](Collective collective, std::uint64_t bytes, std::optional<bool> rewritten, Alias alias = Alias::none) {
    return plan_for(collective, bytes, rewritten, "direct_one_shot", alias).predicted_ns;
  };
  const CostModel cost = near_cores();
  const std::uint64_t bytes = 64 << 10;
  const double rewritten = price(Collective::all_gather, bytes, true), untouched = price(Collective::all_gather, bytes, false);
  CHECK(std::abs(rewritten - untouched - (cost.pull_ns_per_byte - cost.core.copy_ns_per_byte) * static_cast<double>(bytes)) < 1e-6);
  CHECK(std::abs(price(Collective::all_gather, bytes, {}) - (rewritten + untouched) / 2) < 1e-6);
  const std::uint64_t more = 4 * cost.own_cache_bytes;
  CHECK(price(Collective::all_gather, more, true) == price(Collective::all_gather, more, false));
  CHECK(price(Collective::broadcast, bytes, true) > price(Collective::broadcast, bytes, false));
  CHECK(price(Collective::broadcast, bytes, true, Alias::same) == price(Collective::broadcast, bytes, false, Alias::same));
  for (const Collective collective : {Collective::all_gather, Collective::broadcast, Collective::gather, Collective::scatter})
    for (std::uint64_t size = 1 << 10; size <= 64 << 20; size *= 2) {
      CHECK(plan_for(collective, size, true).header.algorithm == plan_for(collective, size, {}).header.algorithm);
      CHECK(plan_for(collective, size, false).header.algorithm == plan_for(collective, size, {}).header.algorithm);
    }
}

TEST_CASE("what the kernel copies costs by byte and by copy more, and it combines nothing") {
  const auto price = [](Request request, double per_byte, double per_call) {
    CostModel cost = near_cores();
    cost.core.kernel_ns_per_byte = per_byte;
    cost.core.kernel_call_ns = per_call;
    request.kernel_copies = true;
    const auto plan = make_plan(Topology{}, cost, limits_of_shared_memory(), request, "direct_one_shot");
    return plan ? plan->predicted_ns : -1.0;
  };
  const Request gathered = request_of(Collective::all_gather, 4, 4 << 20);
  CHECK(std::abs(price(gathered, 0.5, 0) - price(gathered, 0.25, 0) - 0.25 * 3 * (4 << 20)) < 1);
  CHECK(std::abs(price(gathered, 0, 900) - price(gathered, 0, 400) - 3 * 500) < 1);
  for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter})
    CHECK(price(request_of(collective, 4, 4 << 20), 0, 0) == -1.0);
}

TEST_CASE("a call of more pieces than slots gets as many slots as a ring has, and what it needs at most") {
  const auto depth = [](Collective collective, std::uint64_t bytes, std::uint64_t ring_bytes, const char* algorithm = "one_shot") {
    CostModel cost = near_cores();
    cost.ring_bytes = ring_bytes;
    const auto plan = make_plan(Topology{}, cost, limits_of_shared_memory(), request_of(collective, 2, bytes), algorithm);
    REQUIRE(plan);
    CHECK(verify(*plan).proved());
    return std::pair{plan->header.depth, plan->header.piece_bytes};
  };
  const auto [asked, piece] = depth(Collective::all_reduce, 16 << 20, 0);
  CHECK(depth(Collective::all_reduce, 16 << 20, 6 * piece).first == 6);
  CHECK(depth(Collective::all_reduce, 16 << 20, piece).first == asked);
  CHECK(depth(Collective::all_reduce, 16 << 20, std::uint64_t{1} << 40).first == limits_of_shared_memory().staging_bytes / piece);  // there is no more
  CHECK(depth(Collective::all_reduce, piece, std::uint64_t{1} << 40).first == asked);
  const auto [deep, short_piece] = depth(Collective::gather, 1 << 20, 256 << 10);
  CHECK(deep == std::min<std::uint64_t>((384 << 10) / short_piece, ((512 << 10) + short_piece - 1) / short_piece));  // rooted: a ring and a half
}

TEST_CASE("a rank's own output goes past the caches first where no cache holds it, and slots come first below") {
  const auto chosen_of = [](Collective collective, std::uint64_t bytes) {
    const auto plan = plan_of(request_of(collective, 2, bytes));
    REQUIRE(plan);
    CHECK(verify(*plan).proved());
    return plan->header.algorithm;
  };
  CHECK(chosen_of(Collective::all_gather, 32 << 20) == "one_shot_streamed");
  for (const std::uint64_t bytes : {16u << 10, 256u << 10, 4u << 20}) CHECK(chosen_of(Collective::broadcast, bytes) == "one_shot");
  CHECK(chosen_of(Collective::all_gather, 1 << 20) == "one_shot");
}

TEST_CASE("ranks that can't read one another's memory get links") {
  for (const Collective collective : all_collectives())
    for (const std::uint32_t ranks : {2u, 5u, 8u}) {
      if (collective == Collective::send_recv && ranks != 2) continue;
      INFO(to_string(collective));
      const auto plan = plan_of(request_of(collective, ranks, 1 << 16), "", false);
      REQUIRE(plan);
      CHECK(plan->header.neutral);
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        for (const Lane& lane : plan->program(rank).lanes)
          for (const Step& step : lane.steps) CHECK((step.kind == StepKind::copy || step.kind == StepKind::reduce));
    }
}

TEST_CASE("the chosen plan is the first of those that cost little more than the cheapest, and all algorithms are considered") {
  for (const Collective collective : all_collectives())
    for (const std::uint32_t ranks : {1u, 2u, 3u, 8u, 64u})
      for (std::uint64_t bytes = 4; bytes <= std::uint64_t{1} << 30; bytes *= 16) {
        if (collective == Collective::send_recv && ranks != 2) continue;
        const auto plan = plan_of(request_of(collective, ranks, bytes));
        REQUIRE(plan);
        CHECK(plan->considered.size() == algorithm_names().size());
        bool earlier = true;
        for (const Candidate& candidate : plan->considered) {
          INFO(candidate.algorithm << ": " << candidate.note);
          earlier = earlier && candidate.algorithm != plan->header.algorithm;
          if (candidate.algorithm == plan->header.algorithm) {
            CHECK(candidate.note == "chosen");
            CHECK(candidate.predicted_ns == plan->predicted_ns);
          } else if (candidate.note.ends_with("faster, but taken by name alone")) {
            CHECK(candidate.predicted_ns < plan->predicted_ns);
          } else if (candidate.note.rfind("can't serve: ", 0) != 0) {
            CHECK(1.03 * candidate.predicted_ns >= plan->predicted_ns);
            if (earlier) CHECK(candidate.predicted_ns > plan->predicted_ns);
            const double more = candidate.predicted_ns - plan->predicted_ns;
            CHECK(candidate.note.find(more > 0 ? "slower: " : more < 0 ? "faster by less" : "equal") != std::string::npos);
          }
        }
      }
}

TEST_CASE("a loser's note says by how much it lost and where") {
  const auto small = plan_of(request_of(Collective::all_reduce, 8, 8));
  REQUIRE(small);
  CHECK(find(*small, "ring")->note.find("slower: 14 dependent rounds") != std::string::npos);
  const auto large = plan_of(request_of(Collective::all_reduce, 8, 8 << 20));
  REQUIRE(large);
  CHECK(find(*large, "one_shot")->note.find("slower: moves 8.0x the message") != std::string::npos);
  CHECK(find(*large, "inline")->note == "can't serve: the message is too long for the flags' cache lines");
}

TEST_CASE("equal requests get equal plans") {
  for (const Collective collective : all_collectives()) {
    const Request request = request_of(collective, 2, 1 << 20);
    const auto first = plan_of(request);
    const auto second = plan_of(request);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->header == second->header);
    CHECK(first->considered == second->considered);
    CHECK(first->program(1) == second->program(1));
  }
}

TEST_CASE("an algorithm can be asked for by name") {
  const auto plan = plan_of(request_of(Collective::all_reduce, 4, 64), "ring");
  REQUIRE(plan);
  CHECK(plan->header.algorithm == "ring");
  CHECK(find(*plan, "ring")->note == "chosen: asked for");
  CHECK(find(*plan, "inline")->note.find("faster, but not asked for") != std::string::npos);
}

TEST_CASE("an algorithm that is taken by name alone says so where it would be faster, and is not chosen") {
  const Request request = request_of(Collective::all_gather, 7, 64);
  const auto plan = plan_of(request, "", false);
  REQUIRE(plan);
  CHECK(plan->header.algorithm == "ring");
  CHECK(find(*plan, "bruck")->note.find("x faster, but taken by name alone") != std::string::npos);
  const auto named = plan_of(request, "bruck", false);
  REQUIRE(named);
  CHECK(find(*named, "bruck")->note == "chosen: asked for");
}

TEST_CASE("an unknown algorithm is refused with the names of the known ones") {
  const auto plan = plan_of(request_of(Collective::all_reduce, 4, 64), "ringz");
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == Errc::unsupported);
  CHECK(plan.error().detail.find("'ringz'") != std::string::npos);
  for (const std::string_view name : algorithm_names()) CHECK(plan.error().detail.find(name) != std::string::npos);
}

TEST_CASE("an algorithm that can't serve says why") {
  const auto refused = [](const Request& request, const char* algorithm) {
    const auto plan = plan_of(request, algorithm);
    return plan ? std::string("served") : plan.error().detail;
  };
  CHECK(refused(request_of(Collective::all_reduce, 2, 1 << 20), "inline") ==
        "inline can't serve this all_reduce: the message is too long for the flags' cache lines");
  CHECK(refused(request_of(Collective::all_gather, 6, 64), "recursive_doubling") ==
        "recursive_doubling can't serve this all_gather: it gathers over powers of two alone");
  CHECK(refused(request_of(Collective::all_reduce, 6, 64), "swing") ==
        "swing can't serve this all_reduce: its distances lead to every rank once over powers of two alone");
  CHECK(refused(request_of(Collective::all_gather, 7, 64), "bine") ==
        "bine can't serve this all_gather: even ranks meet odd ones, so there must be as many of either");
  CHECK(refused(request_of(Collective::barrier, 6, 0), "tree") ==
        "tree can't serve this barrier: it has no form for this collective");
  Request premultiplied = request_of(Collective::all_reduce, 65, 64);
  premultiplied.op = ReduceOp::premul_sum;
  CHECK(refused(premultiplied, "one_shot").find("64 sources") != std::string::npos);
}

TEST_CASE("requests without sense are refused by name") {
  const auto refused = [](const Request& request) {
    const auto plan = plan_of(request);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == Errc::invalid_argument);
    return plan.error().detail;
  };
  Request request = request_of(Collective::all_reduce, 2, 64);
  request.op = ReduceOp::bxor;
  CHECK(refused(request) == "bxor is not defined on f32");
  CHECK(refused(request_of(Collective::broadcast, 2, 64, 2)) == "root 2 of 2 ranks; expected less");
  CHECK(refused(request_of(Collective::send_recv, 3, 64)) == "send_recv has 2 ranks, not 3");
  CHECK(refused(request_of(Collective::all_reduce, 0, 64)) == "0 ranks; expected 1 or more");
  request = request_of(Collective::all_gather, 4, 0);
  request.count = std::uint64_t{1} << 60;
  CHECK(refused(request).find("count 1152921504606846976") == 0);
}

TEST_CASE("a message of nothing and one of exabytes are planned without overflow") {
  for (const Collective collective : all_collectives())
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 59}) {
      const auto plan = plan_of(request_of(collective, 2, bytes));
      REQUIRE(plan);
      CHECK(plan->predicted_ns >= 0);
      CHECK(plan->predicted_ns < 1e19);
    }
}
