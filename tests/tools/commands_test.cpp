// The two programs as their users meet them: what they accept, what they refuse, and in which words.
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "rondo/rondo.h"
#include "support/catch.hpp"
#include "support/folders.hpp"
#include "tools/plans.hpp"
#include "tools/subprocess.hpp"

namespace {

using Words = std::vector<std::string>;

struct Refused {
  Words arguments;
  Words settings;
  Words words;  ///< what the line must name: the culprit, and where it is short what would be accepted
};

std::string refusals(const std::string& program, const std::vector<Refused>& cases) {
  std::string wrong;
  for (const Refused& one : cases) {
    Words command{program};
    command.insert(command.end(), one.arguments.begin(), one.arguments.end());
    const std::string answer = refusal(run(command, one.settings), one.words);
    if (answer.empty()) continue;
    for (const std::string& word : command) wrong += word + " ";
    wrong += ": " + answer + "\n";
  }
  return wrong;
}

/// The plan that two ranks of rondo-bench ran for an all-reduce, or what they said instead.
std::string measured_plan(const std::string& bytes, const std::string& setting) {
  const std::string rows = write_file("rows.json", "");
  const Finished finished =
      run({bench_program(), "all_reduce", "-n", "2", "-b", bytes, "-e", bytes, "--iters", "1", "--json", rows}, {setting});
  std::ifstream file(rows);
  const auto list = nlohmann::json::parse(file, nullptr, false);
  return finished.code == 0 && list.is_array() && !list.empty() ? list[0].value("plan", "none") : finished.err;
}

}  // namespace

TEST_CASE("a plan is written as MSCCL XML and MSCCL++ JSON, proved from there, and converted to and fro") {
  const Finished planned = run({rondo_program(), "plan", "all_reduce", "-n", "6", "-b", "1M", "--algorithm", "tree", "--format", "msccl"});
  REQUIRE(planned.code == 0);
  const std::string file = write_file("tree.xml", planned.out);
  const Finished proved = run({rondo_program(), "verify", file});
  CHECK(proved.code == 0);
  CHECK(contains(proved.out, "proved: tree (all_reduce, 6 ranks"));
  const Finished json = run({rondo_program(), "convert", file, "--format", "json"});
  REQUIRE(json.code == 0);
  const std::string kept = write_file("tree.json", json.out);
  const std::string back = kept + ".xml";
  CHECK(run({rondo_program(), "convert", kept, "--format", "msccl", "-o", back}).code == 0);
  std::ifstream written(back);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  CHECK(text == planned.out);
  CHECK(contains(run({rondo_program(), "convert", file, "--format", "json", "-o", "/nowhere/plan"}).err, "can't write to /nowhere/plan"));
  const Finished plus = run({rondo_program(), "convert", file, "--format", "mscclpp"});
  REQUIRE(plus.code == 0);
  const Finished proved_plus = run({rondo_program(), "verify", write_file("tree_plus.json", plus.out)});
  CHECK(contains(proved_plus.out, "proved: tree (all_reduce, 6 ranks"));
  const Finished direct = run({rondo_program(), "plan", "all_reduce", "-n", "4", "--algorithm", "two_shot", "--format", "mscclpp"});
  CHECK(contains(run({rondo_program(), "verify", write_file("two_shot.json", direct.out)}).out, "proved: two_shot (all_reduce, 4 ranks"));
}

TEST_CASE("rondo refuses a wrong command, flag, size, type, operation or file in one line that names it") {
  const std::string garbage = write_file("garbage.json", "{\"rondo_plan\": ");
  CHECK(refusals(rondo_program(),
                 {
                     {{}, {}, {"command", "topo", "plan", "verify"}},
                     {{"topolgy"}, {}, {"topolgy", "topo"}},
                     {{"plan", "all_reduce", "-n", "4", "--algorithm", "two_shot", "--format", "msccl"}, {}, {"rank 0, lane 0, step", "MSCCL XML"}},
                     {{"convert", garbage, "--format", "msccl"}, {}, {"garbage.json"}},
                     {{"convert", garbage}, {}, {"--format"}},
                     {{"convert", garbage, "--format", "xml"}, {}, {"xml", "json", "msccl", "mscclpp"}},
                     {{"topo", "--format", "html"}, {}, {"html", "text", "json", "svg"}},
                     {{"topo", "--from", "nonsense"}, {}, {"nonsense", "package:2"}},
                     {{"topo", "--from", "/nowhere/machine.xml"}, {}, {"/nowhere/machine.xml"}},
                     {{"topo", "--sideways"}, {}, {"--sideways", "--from"}},
                     {{"plan", "all_redcue", "--ranks", "2"}, {}, {"all_redcue", "all_reduce"}},
                     {{"plan", "all_reduce"}, {}, {"--ranks"}},
                     {{"plan", "all_reduce", "--ranks", "0"}, {}, {"--ranks", "0"}},
                     {{"plan", "all_reduce", "--ranks", "two"}, {}, {"-n,--ranks", "two", "1 to 1000000"}},
                     {{"plan", "all_reduce", "-n"}, {}, {"-n,--ranks needs a value"}},
                     {{"plan", "all_reduce", "-n", "2", "--rank", "-1"}, {}, {"--rank:", "'-1'", "a whole number from 0"}},
                     {{"plan", "all_reduce", "-n", "2", "--root", "1.5"}, {}, {"--root", "'1.5'", "a whole number from 0"}},
                     {{"plan", "all_reduce", "-n", "2", "--latency", "slow"}, {}, {"--latency", "'slow'", "a number from"}},
                     {{"plan", "all_reduce", "-n", "2", "--explain=deep"}, {}, {"--explain", "deep", "flag alone"}},
                     {{"plan", "all_reduce", "--ranks", "2", "--bytes", "1X"}, {}, {"--bytes", "1X", "K, M or G"}},
                     {{"plan", "all_reduce", "--ranks", "2", "--type", "f33"}, {}, {"f33", "f32"}},
                     {{"plan", "all_reduce", "--ranks", "2", "--op", "mean"}, {}, {"mean", "avg"}},
                     {{"plan", "all_reduce", "--ranks", "2", "--algorithm", "rnig"}, {}, {"rnig", "ring"}},
                     {{"plan", "broadcast", "--ranks", "2", "--root", "2"}, {}, {"root"}},
                     {{"verify"}, {}, {"verify"}},
                     {{"verify", "/nowhere/plan.json"}, {}, {"/nowhere/plan.json"}},
                     {{"verify", garbage}, {}, {"garbage.json"}},
                 }) == "");
}

TEST_CASE("rondo topo and rondo verify refuse a bad RONDO_ variable too") {
  const Words verify{"verify", RONDO_SOURCE_DIR "/tests/formats/data/ring3.xml"};
  std::vector<Refused> cases;
  for (const Words& command : {Words{"topo"}, Words{"topo", "--from", "pu:2"}, verify}) {
    cases.push_back({command, {"RONDO_LOG=nonsense"}, {"RONDO_LOG", "nonsense", "debug"}});
    cases.push_back({command, {"RONDO_STAGING_BYTES=1K"}, {"RONDO_STAGING_BYTES", "1K", "64K"}});
  }
  CHECK(refusals(rondo_program(), cases) == "");
}

TEST_CASE("rondo plan refuses a bad RONDO_ variable in one line that names it, its value and what would be accepted") {
  const Words plan{"plan", "all_reduce", "--ranks", "2"};
  CHECK(refusals(rondo_program(),
                 {
                     {plan, {"RONDO_ALGORITHM=rnig"}, {"RONDO_ALGORITHM", "rnig", "ring", "two_shot"}},
                     {plan, {"RONDO_STAGING_BYTES=abc"}, {"RONDO_STAGING_BYTES", "abc", "64K"}},
                     {plan, {"RONDO_STAGING_BYTES=1K"}, {"RONDO_STAGING_BYTES", "1K", "64K"}},
                     {plan, {"RONDO_KERNEL_COPIES=yes"}, {"RONDO_KERNEL_COPIES", "yes", "0, 1"}},
                     {plan, {"RONDO_LOG=loud"}, {"RONDO_LOG", "loud", "debug"}},
                     {plan, {"RONDO_TIMEOUT=-3"}, {"RONDO_TIMEOUT", "-3", "seconds"}},
                 }) == "");
}

TEST_CASE("rondo plan heeds RONDO_ALGORITHM and RONDO_STAGING_BYTES as the ranks of a job do") {
  const auto shown = [](const Words& call, const Words& settings) {
    Words command{rondo_program(), "plan"};
    command.insert(command.end(), call.begin(), call.end());
    command.insert(command.end(), {"--format", "json"});
    const Finished finished = run(command, settings);
    INFO(finished.err);
    CHECK(finished.code == 0);
    return finished.out;
  };
  const Words small{"all_reduce", "--ranks", "2", "--bytes", "64"};
  const auto algorithm = [](const std::string& plan) {
    return nlohmann::json::parse(plan, nullptr, false).value("algorithm", "none");
  };
  for (const std::string name : {"ring", "two_shot", "recursive_doubling"}) {
    INFO(name);
    CHECK(algorithm(shown(small, {"RONDO_ALGORITHM=" + name})) == name);
    CHECK(measured_plan("64", "RONDO_ALGORITHM=" + name) == name);
  }

  // One that can't serve the call gives way, as in a communicator; a flag is an order.
  const Words gather{"all_gather", "--ranks", "3", "--bytes", "64K"};
  CHECK(shown(gather, {"RONDO_ALGORITHM=recursive_doubling"}) == shown(gather, {}));
  CHECK(run({rondo_program(), "plan", "all_gather", "--ranks", "3", "--algorithm", "recursive_doubling"}).code == 2);

  const Words large{"all_reduce", "--ranks", "2", "--bytes", "16M"};
  CHECK(shown(large, {"RONDO_STAGING_BYTES=8M"}) == shown(large, {}));
  CHECK(shown(large, {"RONDO_STAGING_BYTES=64K"}) != shown(large, {}));
}

TEST_CASE("a rank whose RONDO_KERNEL_COPIES is 0 keeps the kernel from copying for all") {
  const auto plan = [](const std::string& of_rank_0, const std::string& of_rank_1) {
    static int job = 0;
    const std::string rows = write_file("rows.json", "");
    const std::string port = " MASTER_PORT=" + std::to_string(20'000 + (getpid() * 8 + job++) % 30'000) + " WORLD_SIZE=2 RONDO_ALGORITHM=direct_one_shot ";
    const std::string bench = bench_program() + " all_gather -b 1M -e 1M --iters 1 ";
    const auto rank = [&](const char* number, const std::string& may) { return "RANK=" + std::string(number) + " RONDO_KERNEL_COPIES=" + may + port + bench; };
    const Finished finished = run({"/bin/sh", "-c", rank("1", of_rank_1) + " & " + rank("0", of_rank_0) + " --json " + rows + "; wait"});
    std::ifstream file(rows);
    const auto list = nlohmann::json::parse(file, nullptr, false);
    return list.is_array() && !list.empty() ? list[0].value("plan", "none") : finished.err;
  };
  const std::string staged = plan("0", "0");
  CHECK(staged == "one_shot");
  CHECK(plan("0", "1") == staged);
  CHECK(plan("1", "0") == staged);
}

TEST_CASE("rondo-bench refuses a wrong flag, size, type, operation, file or variable in one line that names it") {
  const std::string ring = RONDO_SOURCE_DIR "/tests/formats/data/ring3.xml";
  CHECK(refusals(bench_program(),
                 {
                     {{}, {}, {"OP"}},
                     {{"all_redcue", "-n", "2"}, {}, {"all_redcue", "all_reduce"}},
                     {{"all_reduce", "-n", "2", "--bogus"}, {}, {"--bogus", "--help"}},
                     {{"all_reduce", "-n", "0"}, {}, {"-n,--ranks", "'0'", "1 to 4096"}},
                     {{"all_reduce", "-n"}, {}, {"-n,--ranks needs a value", "local ranks"}},
                     {{"all_reduce", "-n", "2", "--iters", "-1"}, {}, {"--iters", "'-1'", "a whole number from 0"}},
                     {{"all_reduce", "-n", "2", "-w", "-1"}, {}, {"-w,--warmup_iters", "'-1'", "a whole number from 0"}},
                     {{"all_reduce", "-n", "2", "-r", "-1"}, {}, {"-r,--root", "'-1'", "a whole number from 0"}},
                     {{"all_reduce", "-n", "2", "-f", "1"}, {}, {"-f,--stepfactor", "'1'", "1.001"}},
                     {{"all_reduce", "-n", "2", "-c", "2"}, {}, {"-c,--check", "'2'", "0 to 1"}},
                     {{"all_reduce", "--threads=often", "-n", "2"}, {}, {"--threads", "often", "flag alone"}},
                     {{"scan", "-n", "2", "-o", "avg"}, {}, {"--op", "avg", "scan"}},
                     {{"send_recv", "-n", "1"}, {}, {"-n,--ranks", "'1'", "2 or more"}},
                     {{"send_recv", "-n", "3", "--plan", ring}, {}, {"--plan", "send_recv"}},
                     {{"all_reduce", "-n", "2", "--json", "/nowhere/rows.json"}, {}, {"--json", "/nowhere/rows.json"}},
                     {{"all_reduce", "-n", "2", "-b", "huge"}, {}, {"-b", "huge", "64K"}},
                     {{"all_reduce", "-n", "2", "-b", "-8"}, {}, {"-8"}},
                     {{"all_reduce", "-n", "2", "-b", "1M", "-e", "1K"}, {}, {"-b", "1M", "1K"}},
                     {{"all_reduce", "-n", "2", "-d", "f33"}, {}, {"f33", "f32"}},
                     {{"all_reduce", "-n", "2", "-o", "mean"}, {}, {"mean", "avg"}},
                     {{"all_reduce", "-n", "2", "-o", "bxor"}, {}, {"bxor", "f32"}},
                     {{"broadcast", "-n", "2", "-r", "2"}, {}, {"-r", "2"}},
                     {{"all_reduce", "-n", "2", "--unverified"}, {}, {"--unverified", "--plan"}},
                     {{"all_reduce", "--threads"}, {}, {"--threads", "-n"}},
                     {{"all_reduce", "-n", "2", "--deadline", "-1"}, {}, {"--deadline"}},
                     {{"all_reduce", "-n", "2", "--transport", "pigeon"}, {}, {"pigeon", "shm"}},
                     {{"all_reduce", "-n", "2", "--plan", "/nowhere/plan.xml"}, {}, {"/nowhere/plan.xml"}},
                     {{"broadcast", "-n", "3", "--plan", ring}, {}, {"ring3.xml", "all_reduce"}},
                     {{"all_reduce", "-n", "2", "--plan", ring}, {}, {"3 ranks"}},
                     {{"all_reduce", "-n", "2"}, {"RONDO_LOG=loud"}, {"RONDO_LOG", "loud", "debug"}},
                     {{"all_reduce", "-n", "2", "--threads"}, {"RONDO_LOG=loud"}, {"RONDO_LOG", "loud", "debug"}},
                     {{"all_reduce", "-n", "2"}, {"RONDO_STAGING_BYTES=abc"}, {"RONDO_STAGING_BYTES", "abc", "64K"}},
                     {{"all_reduce", "-n", "2", "--algorithm", "rnig"}, {}, {"rnig", "ring"}},
                     {{"all_reduce", "-n", "2"}, {"RONDO_ALGORITHM=rnig"}, {"rnig", "ring"}},
                     {{"all_reduce", "-n", "2"}, {"RONDO_TIMEOUT=-3"}, {"RONDO_TIMEOUT", "-3", "seconds"}},
                     {{"all_reduce"}, {"RANK="}, {"RANK", "-n"}},
                     {{"all_reduce"}, {"RANK=7", "WORLD_SIZE=2", "MASTER_PORT=29500"}, {"RANK", "7", "WORLD_SIZE"}},
                 }) == "");
}

TEST_CASE("rondo says its version, and its help goes to standard output") {
  for (const std::string& program : {rondo_program(), bench_program()}) {
    const Finished version = run({program, "--version"});
    CHECK(version.code == 0);
    CHECK(contains(version.out, "rondo"));
    CHECK(contains(version.out, std::to_string(RONDO_VERSION_MAJOR) + "." + std::to_string(RONDO_VERSION_MINOR) + "."));
    const Finished help = run({program, "--help"});
    CHECK(help.code == 0);
    CHECK_FALSE(help.out.empty());
    CHECK(help.err == "");
  }
}

TEST_CASE("rondo topo shows this machine and described ones as text, JSON and a picture") {
  for (const Words& from : {Words{}, Words{"--from", "package:2 l3:1 core:4 pu:1"}}) {
    const auto shown = [&](const std::string& format) {
      Words command{rondo_program(), "topo", "--format", format};
      command.insert(command.end(), from.begin(), from.end());
      const Finished finished = run(command);
      CHECK(finished.code == 0);
      CHECK(finished.err == "");
      return finished.out;
    };
    CHECK_FALSE(shown("text").empty());
    CHECK(nlohmann::json::parse(shown("json"), nullptr, false).is_object());
    CHECK(contains(shown("svg"), "<svg"));
  }
}

TEST_CASE("the JSON that rondo topo writes is read again as the same machine") {
  const std::string first = run({rondo_program(), "topo", "--from", "package:2 core:2 pu:1", "--format", "json"}).out;
  const Finished again =
      run({rondo_program(), "topo", "--from", write_file("machine.json", first), "--format", "json"});
  CHECK(again.code == 0);
  CHECK(again.out == first);
}

TEST_CASE("a plan that MSCCL can't run is written all the same, with a warning") {
  const Finished finished = run({rondo_program(), "plan", "all_reduce", "-n", "40", "--algorithm", "ring", "--format", "msccl"});
  CHECK(finished.code == 0);
  CHECK(finished.out.starts_with("<algo name=\"ring\""));
  CHECK(finished.err == "rondo plan: warning: MSCCL takes at most 64 steps a thread block, and this has up to 79\n");
}

TEST_CASE("rondo plan explains which ways between GPUs a plan takes") {
  const Finished finished = run({rondo_program(), "plan", "all_reduce", "-n", "8", "--topology", "ndv2", "--algorithm", "ring", "--explain"});
  CHECK(finished.code == 0);
  CHECK(finished.out.find("\nways between 8 pairs of ranks: 8 of 50 GB/s\n") != std::string::npos);
}

TEST_CASE("rondo plan explains what was chosen, what it would have cost otherwise, and the figures behind it") {
  const Finished finished = run({rondo_program(), "plan", "all_reduce", "--ranks", "4", "--bytes", "1M", "--explain"});
  REQUIRE(finished.code == 0);
  for (const char* word :
       {"chosen", "ring", "two_shot", "one_shot", "recursive_doubling", "slower", "can't serve", "latency_ns"}) {
    INFO(word);
    CHECK(contains(finished.out, word));
  }
}

TEST_CASE("rondo plan follows the memories of a made-up machine, and says which groups and which figures") {
  const std::string machine = "package:2 numa:4 l3:3 core:8 pu:1";
  const Finished finished = run({rondo_program(), "plan", "all_reduce", "--topology", machine, "-n", "192", "--bytes", "4K", "--explain"});
  REQUIRE(finished.code == 0);
  for (const char* word : {"f32: hierarchical", "groups of 8, ", "level of 24 ranks: latency_ns 150", "below one numa"}) {
    INFO(word);
    CHECK(contains(finished.out, word));
  }
}

TEST_CASE("rondo plan says that a communicator probes the latency, and plans with the one that --latency gives") {
  const auto explained = [](const Words& more) {
    Words command{rondo_program(), "plan", "all_reduce", "--topology", "l3:1 core:2 pu:1", "-n", "2", "--bytes", "2K", "--explain"};
    command.insert(command.end(), more.begin(), more.end());
    const Finished finished = run(command);
    INFO(finished.err);
    CHECK(finished.code == 0);
    return finished.out;
  };
  const std::string assumed = explained({});
  CHECK(contains(assumed, "assumed, between ranks 0 and 1"));
  CHECK(contains(assumed, "probe"));
  CHECK(contains(assumed, "--latency NS"));
  const std::string given = explained({"--latency", "275"});
  CHECK(contains(given, "latency_ns 275: given by --latency"));
  CHECK_FALSE(contains(given, "probe"));
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  CHECK(first_line(explained({"--latency", "5"})) != first_line(explained({"--latency", "20000"})));
}

TEST_CASE("the benchmarks of single parts refuse a wrong flag in one line too") {
  const std::string folder = RONDO_BINARY_DIR "/bin/";
  CHECK(refusals(folder + "bench_floor", {{{"--ranks", "99"}, {}, {"-n,--ranks", "'99'", "2 to 8"}}, {{"--bogus"}, {}, {"--bogus", "--only"}}}) == "");
  CHECK(refusals(folder + "bench_overhead", {{{"--calls", "0"}, {}, {"--calls", "'0'", "1 to 100000000"}},
                                             {{"--bogus"}, {}, {"--bogus", "--rounds"}},
                                             {{"--rounds", "1"}, {"RONDO_LOG=loud"}, {"RONDO_LOG", "loud", "debug"}}}) == "");
  CHECK(refusals(folder + "bench_waiting", {{{"--ranks", "1"}, {}, {"--ranks", "'1'", "2 to 64"}}, {{"--bogus"}, {}, {"--bogus", "--rounds"}}}) == "");
  CHECK(refusals(folder + "bench_fused", {{{"--ranks", "1"}, {}, {"--ranks", "'1'", "2 to 64"}}, {{"--tensors", "0"}, {}, {"--tensors", "'0'"}}}) == "");
  CHECK(refusals(folder + "bench_integrity", {{{"--ranks", "1"}, {}, {"--ranks", "'1'", "2 to 64"}}, {{"--sizes", "1"}, {}, {"--sizes", "'1'"}}}) == "");
  CHECK(refusals(folder + "bench_kernels", {{{"--bogus"}, {}, {"--bogus"}}}) == "");
  CHECK(refusals(folder + "compare", {{{"--raw", "/dev/null", "--rounds", "x"}, {}, {"--rounds", "'x'", "1 to 1000"}},
                                      {{"--raw", "/dev/null"}, {"RONDO_LOG=loud"}, {"RONDO_LOG", "loud", "debug"}}}) == "");
}

TEST_CASE("a plan that rondo plan writes is proved by rondo verify, for every collective it makes") {
  for (const char* collective : {"all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather", "all_to_all", "all_to_all_v", "gather", "scatter",
                                 "scan", "barrier"})
    for (const char* bytes : {"64", "64K", "16M"}) {
      INFO(collective << " of " << bytes);
      const std::string file = write_file("plan.json", planned(collective, 3, bytes).dump());
      const Finished verified = run({rondo_program(), "verify", file});
      CHECK(verified.code == 0);
      CHECK(contains(verified.out, "proved"));
    }
}

TEST_CASE("rondo verify ends with 0, 1 or 2 for proved, wrong and unreadable, the worst of its files counting") {
  const auto plan = planned("all_reduce", 2, "64K", "two_shot");
  const std::string right = write_file("right.json", plan.dump());
  const std::string wrong = write_file("wrong.json", off_by_one_chunk(plan).dump());
  const std::string garbage = write_file("garbage.xml", "<algo");
  const auto code = [](Words files) {
    Words command{rondo_program(), "verify"};
    command.insert(command.end(), files.begin(), files.end());
    return run(command).code;
  };
  CHECK(code({right}) == 0);
  CHECK(code({wrong}) == 1);
  CHECK(code({garbage}) == 2);
  CHECK(code({right, right}) == 0);
  CHECK(code({right, wrong}) == 1);
  CHECK(code({wrong, right, garbage}) == 2);

  const Finished said = run({rondo_program(), "verify", wrong});
  CHECK(contains(said.out, "rank"));
  CHECK(contains(said.out, "step"));

  const Finished listed = run({rondo_program(), "verify", "--json", right, wrong});
  CHECK(listed.code == 1);
  const auto list = nlohmann::json::parse(listed.out, nullptr, false);
  REQUIRE(list.is_array());
  REQUIRE(list.size() == 2);
  CHECK(list[0].at("status") == "proved");
  CHECK(list[1].at("status") == "wrong");
  CHECK(list[1].at("violations").size() >= 1);
}
