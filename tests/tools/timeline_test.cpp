// rondo-bench --trace: a timeline whose steps and bytes are those of the plan that ran.
#include <algorithm>

#include "support/catch.hpp"
#include "tools/plans.hpp"
#include "tools/subprocess.hpp"
#include "tools/timeline.hpp"

namespace {

using namespace rondo;
using nlohmann::json;
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a timeline shows the steps and bytes of the plan that ran, between processes and between threads") {
  for (const char* algorithm : {"ring", "two_shot", "halving_doubling"}) check_timeline({algorithm});
  check_timeline({"ring", 3});
  check_timeline({"ring", 2, {"--threads"}});
}

TEST_CASE("a timeline shows the steps and bytes of plans that read buffers where they are") {
  check_timeline({.algorithm = "direct_two_shot", .flags = {"--symmetric"}, .direct = true});
  check_timeline({"direct_two_shot"});
}

TEST_CASE("a timeline of a tiny call shows its steps though no signal is sent") {
  const json file = planned("all_reduce", 2, "64", "inline");
  REQUIRE(file.is_object());
  const auto plan = read_plan(file.dump());
  REQUIRE(plan);
  REQUIRE(plan->header.protocol == Protocol::inlined);
  const std::string timeline = write_file("timeline.json", "");
  const Finished finished =
      run({bench_program(), "all_reduce", "-n", "2", "-b", "64", "-e", "64", "--iters", "3", "--algorithm", "inline", "--trace", timeline});
  INFO(finished.out << finished.err);
  REQUIRE(finished.code == 0);
  const json read = read_timeline(timeline);
  REQUIRE(read.is_object());
  for (const auto& [rank, own] : by_rank(read)) {
    CHECK(wrong_order(own) == "");
    CHECK(wrong_steps(lower(*plan), rank, 16, 40, own) == "");
  }
  CHECK(names(read, "process_name") == Words{"rank 0", "rank 1"});
  CHECK(names(read, "thread_name") == Words{"lane 0", "lane 0"});
}

TEST_CASE("a timeline of messages has a thread for each neighbour and direction") {
  const std::string algorithm = GENERATE("one_shot", "direct_push_pull");
  const std::string timeline = write_file("timeline.json", "");
  const Finished finished =
      run({bench_program(), "send_recv", "-n", "3", "-b", "1M", "-e", "1M", "--iters", "2", "--algorithm", algorithm, "--trace", timeline});
  INFO(finished.out << finished.err);
  REQUIRE(finished.code == 0);
  const json read = read_timeline(timeline);
  REQUIRE(read.is_object());
  auto threads = names(read, "thread_name");
  std::sort(threads.begin(), threads.end());
  CHECK(threads == Words{"from rank 0, lane 0", "from rank 1, lane 0", "from rank 2, lane 0", "to rank 0, lane 0", "to rank 1, lane 0", "to rank 2, lane 0"});
  std::uint64_t all = 0;
  for (const auto& [rank, own] : by_rank(read)) {
    CHECK(wrong_order(own) == "");
    std::map<std::uint64_t, std::uint64_t> bytes;  // by thread
    for (const json& event : own)
      if (event.at("cat") == "copy") bytes[event.at("tid").get<std::uint64_t>()] += event.at("args").at("bytes").get<std::uint64_t>();
    for (const auto& [thread, moved] : bytes) {
      all += moved;
      if (algorithm == "one_shot") CHECK(moved == 20 << 20);
    }
    if (algorithm == "one_shot") CHECK(bytes.size() == 2);  // to the next rank, from the one before
  }
  // Into slots and out of them, or each message once, by whichever end; where the kernel doesn't copy, that is a plan with slots, too.
  constexpr std::uint64_t sent = 3 * 20 << 20;
  const bool once = algorithm == "direct_push_pull" && all != 2 * sent;
  CHECK(all == (once ? sent : 2 * sent));
}

TEST_CASE("calls with more steps than a timeline has room for are cut, and that is said") {
  json file = planned("all_reduce", 2, "1M", "two_shot");
  REQUIRE(file.is_object());
  auto plan = read_plan(file.dump());
  REQUIRE(plan);
  plan->header.piece_bytes = 64;
  const std::string timeline = write_file("timeline.json", "");
  const Finished finished = run({bench_program(), "all_reduce", "-n", "2", "-b", "2M", "-e", "2M", "--iters", "1", "--plan",
                                 write_file("plan.json", write_plan(*plan)), "--trace", timeline});
  INFO(finished.out << finished.err);
  REQUIRE(finished.code == 0);
  CHECK(finished.out.find("more events of rank 1 were dropped") != std::string::npos);
  const json read = read_timeline(timeline);
  REQUIRE(read.is_object());
  for (const std::string& name : names(read, "process_name")) CHECK(name.find("events dropped") != std::string::npos);
  for (const auto& [rank, own] : by_rank(read)) CHECK(wrong_order(own) == "");
}

TEST_CASE("a timeline that can't be written is refused before anything is measured") {
  const Finished finished = run({bench_program(), "all_reduce", "-n", "2", "--trace", "/nowhere/timeline.json"});
  CHECK(refusal(finished, {"--trace", "/nowhere/timeline.json", "accepted"}) == "");
  CHECK(finished.out == "");
}
