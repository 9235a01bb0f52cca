// rondo-bench measures what it says, runs exactly the plan it is given, and finds wrong results.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/folders.hpp"
#include "tools/plans.hpp"
#include "tools/subprocess.hpp"

namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Finished bench(Words arguments) {
  arguments.insert(arguments.begin(), bench_program());
  return run(arguments);
}

json read_json(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

std::uint64_t wrong_values(const json& rows) {
  std::uint64_t wrong = 0;
  for (const json& row : rows) wrong += row.at("wrong").get<std::uint64_t>();
  return wrong;
}

/// What a wrong plan did at one size: "wrong values", "deadline", or how it slipped through.
std::string fate(const std::string& plan_file, const std::string& bytes) {
  const std::string rows = write_file("rows.json", "");
  const Finished finished = bench({"all_reduce", "-n", "2", "-b", bytes, "-e", bytes, "--iters", "2", "-w", "0",
                                   "--plan", plan_file, "--unverified", "--deadline", "2", "--json", rows});
  if (finished.code == 1 && finished.err.find("deadline_exceeded") != std::string::npos) return "deadline";
  const json read = read_json(rows);
  if (finished.code == 1 && read.is_array() && wrong_values(read) > 0) return "wrong values";
  return "code " + std::to_string(finished.code) + "\n" + finished.out + finished.err;
}

}  // namespace

TEST_CASE(
    "rondo-bench times and checks an all-reduce between processes and between threads, and writes its rows as JSON") {
  for (const bool threads : {false, true}) {
    const std::string rows = write_file("rows.json", "");
    Words arguments{"all_reduce", "-n", "2", "-b", "8", "-e", "1K", "-f", "4", "--iters", "20", "--json", rows};
    if (threads) arguments.push_back("--threads");
    const Finished finished = bench(arguments);
    INFO(finished.out << finished.err);
    REQUIRE(finished.code == 0);
    CHECK(finished.err == "");
    CHECK(finished.out.find("# Out of bounds values : 0 OK") != std::string::npos);
    const json list = read_json(rows);
    REQUIRE(list.is_array());
    REQUIRE(list.size() == 8);  // 8, 32, 128, 512 bytes, out of place and in place
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& row = list[i];
      CHECK(row.at("collective") == "all_reduce");
      CHECK(row.at("ranks") == 2);
      CHECK(row.at("bytes") == (8u << (2 * (i / 2))));
      CHECK(row.at("dtype") == "f32");
      CHECK(row.at("op") == "sum");
      CHECK(row.at("in_place") == (i % 2 == 1));
      CHECK(row.at("wrong") == 0);
      CHECK(row.at("time_us").get<double>() > 0);
      CHECK(row.at("algbw_gbps").is_number());
      CHECK(row.at("busbw_gbps") == row.at("algbw_gbps"));  // 2 (n - 1) / n is 1 for two ranks
      CHECK_FALSE(row.at("plan").get<std::string>().empty());
    }
  }
}

TEST_CASE("rondo-bench finds the results of every operation right, of floating and of integer types") {
  const auto wrong_of = [](const std::string& collective, const std::string& operation, const std::string& type) {
    const std::string rows = write_file("rows.json", "");
    const Finished finished = bench({collective, "-n", "3", "--threads", "-b", "60", "-e", "12K", "-f", "200", "--iters", "2", "-w", "0", "-o", operation,
                                     "-d", type, "--json", rows});
    const json list = read_json(rows);
    INFO(collective << " " << operation << " of " << type << "\n" << finished.out << finished.err);
    CHECK(finished.code == 0);
    REQUIRE(list.is_array());
    CHECK(list.size() == 4);
    CHECK(wrong_values(list) == 0);
  };
  for (const char* operation : {"sum", "prod", "min", "max", "avg", "premul_sum", "mulsum"})
    for (const char* type : {"f32", "bf16", "i32", "u8"}) wrong_of("all_reduce", operation, type);
  for (const char* operation : {"band", "bor", "bxor"})
    for (const char* type : {"i32", "u8"}) wrong_of("all_reduce", operation, type);
  for (const char* collective : {"reduce", "reduce_scatter"})
    for (const char* type : {"f32", "i32"}) wrong_of(collective, "premul_sum", type);
}

TEST_CASE("rondo-bench send_recv passes messages round the ranks, out of place, and checks them") {
  for (const char* ranks : {"2", "3", "4"}) {
    const std::string rows = write_file("rows.json", "");
    const Finished finished = bench({"send_recv", "-n", ranks, "-b", "8", "-e", "2M", "-f", "512", "--iters", "3", "--percentiles", "--json", rows});
    INFO(ranks << " ranks\n" << finished.out << finished.err);
    REQUIRE(finished.code == 0);
    const json list = read_json(rows);
    REQUIRE(list.is_array());
    REQUIRE(list.size() == 3);  // 8 bytes, 4 KiB, 2 MiB
    for (const json& row : list) {
      CHECK(row.at("in_place") == false);
      CHECK(row.at("wrong") == 0);
      CHECK(row.at("busbw_gbps") == row.at("algbw_gbps"));
    }
  }
}

TEST_CASE("what rondo-bench didn't check is null, neither right nor wrong") {
  for (const Words& unchecked : {Words{"all_reduce", "-c", "0"}, Words{"barrier"}}) {
    const std::string rows = write_file("rows.json", "");
    Words arguments = unchecked;
    arguments.insert(arguments.end(), {"-n", "2", "-b", "8", "-e", "8", "--iters", "2", "--json", rows});
    const Finished finished = bench(arguments);
    INFO(finished.out << finished.err);
    CHECK(finished.code == 0);
    CHECK(finished.out.find("nothing was checked") != std::string::npos);
    const json list = read_json(rows);
    REQUIRE(list.is_array());
    REQUIRE_FALSE(list.empty());
    for (const json& row : list) CHECK(row.at("wrong").is_null());
  }
}

TEST_CASE("a size that no rank has memory for ends with 1 and one line, of processes and of threads") {
  for (const bool threads : {false, true}) {
    Words arguments{"all_reduce", "-n", "4", "-b", "8191G", "-e", "8191G"};
    if (threads) arguments.push_back("--threads");
    const Finished finished = bench(arguments);
    INFO(finished.out << finished.err);
    CHECK(finished.code == 1);
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    CHECK(finished.err.find("no memory") != std::string::npos);
    CHECK(finished.err.find("-e") != std::string::npos);
  }
}

TEST_CASE("ranks that can't meet end with 1, of processes and of threads") {
  for (const char* threads : {"", " --threads"}) {
    const std::string command = "ulimit -n 12; exec " + bench_program() + " all_reduce -n 4 -b 8 -e 8" + threads;
    const Finished finished = run({"/bin/sh", "-c", command});
    INFO(finished.out << finished.err);
    CHECK(finished.code == 1);
    CHECK(finished.err.find("ulimit -n") != std::string::npos);
  }
}

TEST_CASE("when a rank can't be started rondo-bench says so and ends by itself, not with its whole process group") {
  const Finished finished = run({bench_program(), "all_reduce", "-n", "4", "-b", "8", "-e", "8"}, {}, 60, Forks::refused);
  INFO(finished.out << finished.err);
  CHECK(finished.code == 1);
  CHECK(finished.err.find("cannot start rank 0") != std::string::npos);
  CHECK(finished.err.find("ulimit -u") != std::string::npos);
}

TEST_CASE("rondo-bench measures and checks every collective, with more ranks than cores too") {
  for (const char* collective :
       {"all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather", "all_to_all", "all_to_all_v", "gather", "scatter", "scan", "barrier"})
    for (const char* ranks : {"1", "4"}) {
      const Finished finished =
          bench({collective, "-n", ranks, "-b", "4K", "-e", "4K", "--iters", "3", "--touch", "--percentiles"});
      INFO(collective << " of " << ranks << " ranks\n" << finished.out << finished.err);
      CHECK(finished.code == 0);
    }
}

TEST_CASE("an imported ring runs exactly as written, and its name stands in the rows") {
  const std::string rows = write_file("rows.json", "");
  const Finished finished = bench({"all_reduce", "-n", "3", "-b", "8", "-e", "64K", "-f", "8", "--iters", "3", "--plan",
                                   RONDO_SOURCE_DIR "/tests/formats/data/ring3.xml", "--json", rows});
  INFO(finished.out << finished.err);
  REQUIRE(finished.code == 0);
  const json list = read_json(rows);
  REQUIRE(list.is_array());
  CHECK(wrong_values(list) == 0);
  for (const json& row : list) CHECK(row.at("plan") == "ring3");
}

TEST_CASE("a ring for calls in place alone is measured in place alone") {
  const std::string rows = write_file("rows.json", "");
  const Finished finished = bench({"all_reduce", "-n", "2", "-b", "8", "-e", "64K", "-f", "8", "--iters", "3", "--plan",
                                   RONDO_SOURCE_DIR "/tests/formats/data/ring2.xml", "--percentiles", "--json", rows});
  INFO(finished.out << finished.err);
  REQUIRE(finished.code == 0);
  CHECK(finished.out.find("N/A") != std::string::npos);
  const json list = read_json(rows);
  REQUIRE(list.is_array());
  CHECK(list.size() == 5);
  CHECK(wrong_values(list) == 0);
  for (const json& row : list) CHECK(row.at("in_place") == true);
}

TEST_CASE("a wrong plan is refused unless it is run unverified, and then shows at every size that it is what runs") {
  const json plan = planned("all_reduce", 2, "64K", "two_shot");
  REQUIRE(plan.is_object());
  const std::vector<std::pair<json, std::string>> mutants{{off_by_one_chunk(plan), "wrong values"},
                                                          {own_input_twice(plan), "wrong values"},
                                                          {crossed_waits(plan), "deadline"}};
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    INFO("mutant " << i);
    const std::string file = write_file("mutant" + std::to_string(i) + ".json", mutants[i].first.dump());
    const Finished refused = bench({"all_reduce", "-n", "2", "-b", "8", "-e", "8", "--plan", file});
    CHECK(refused.code == 2);
    CHECK(refused.err.find("rank") != std::string::npos);
    CHECK(fate(file, "8") == mutants[i].second);
    CHECK(fate(file, "64K") == mutants[i].second);
    CHECK(fate(file, "16M") == mutants[i].second);
  }
}

TEST_CASE("one wrong step of one rank shows at every size, as wrong values or by the deadline") {
  const json plan = planned("all_reduce", 2, "64K", "two_shot");
  REQUIRE(plan.is_object());
  for (const Spoiled& spoiled : spoiled_at_one_rank(plan)) {
    INFO(spoiled.how);
    const std::string file = write_file("spoiled.json", spoiled.plan.dump());
    CHECK(run({rondo_program(), "verify", file}).code == 1);
    for (const char* bytes : {"8", "64K", "16M"}) CHECK(fate(file, bytes) == spoiled.fate);
  }
}

TEST_CASE("one wrong step of an imported ring shows at every size") {
  std::ifstream ring(RONDO_SOURCE_DIR "/tests/formats/data/ring2.xml");
  std::string text{std::istreambuf_iterator<char>(ring), {}};
  const std::string adds = "type=\"rrcs\" srcbuf=\"i\" srcoff=\"1\"";
  const std::size_t at = text.find(adds);
  REQUIRE(at != std::string::npos);
  text.replace(at, adds.size(), "type=\"rcs\" srcbuf=\"i\" srcoff=\"1\"");  // passes on what it received, adds nothing
  const std::string file = write_file("spoiled.xml", text);
  CHECK(run({rondo_program(), "verify", file}).code == 1);
  for (const char* bytes : {"8", "64K", "16M"}) CHECK(fate(file, bytes) == "wrong values");
}

TEST_CASE("the right plan that the mutants come from runs without a wrong value") {
  const std::string file = write_file("right.json", planned("all_reduce", 2, "64K", "two_shot").dump());
  for (const char* bytes : {"8", "64K", "16M"}) {
    const Finished finished =
        bench({"all_reduce", "-n", "2", "-b", bytes, "-e", bytes, "--iters", "2", "--plan", file});
    INFO(finished.out << finished.err);
    CHECK(finished.code == 0);
  }
}
