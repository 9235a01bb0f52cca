// rondo doctor as its users meet it: on this machine, under tight limits, with a wrong environment.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/catch.hpp"
#include "tools/subprocess.hpp"

namespace {

using Words = std::vector<std::string>;

constexpr int patience_s = 15;  // of a user; the doctor's own worst case is below it

Finished doctor(const Words& settings = {}, const Words& flags = {}) {
  Words command{rondo_program(), "doctor"};
  command.insert(command.end(), flags.begin(), flags.end());
  return run(command, settings, patience_s);
}

/// The doctor after some shell's words, which may end in a limit.
Finished doctor_after(const std::string& words) { return run({"/bin/sh", "-c", words + "; exec " + rondo_program() + " doctor"}, {}, patience_s); }

/// The line of a check, with what to type behind it; "" when there is none.
std::string line_of(const std::string& text, const std::string& check) {
  std::istringstream lines{text};
  std::string line, found;
  while (found.empty() && std::getline(lines, line))
    if (line.find(" " + check + " ") == 8 || line.find(" " + check + " ") == 7) found = line;
  if (std::getline(lines, line) && contains(line, " type: ")) found += line;
  return found;
}

}  // namespace

TEST_CASE("rondo doctor runs real all-reduces and says in lines with a verdict what it found") {
  const Finished finished = doctor();
  INFO(finished.out << finished.err);
  CHECK(finished.code == 0);
  CHECK(finished.err == "");
  for (const char* check : {"library", "kernels", "processors", "descriptors", "shared memory", "settings", "launcher", "GPUs", "peers"}) {
    INFO(check);
    CHECK(line_of(finished.out, check) != "");
  }
  for (const char* check : {"2 threads, shm", "2 processes, shm"}) CHECK(contains(line_of(finished.out, check), "right sums"));
  std::istringstream lines{finished.out};
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    INFO(line);
    const bool verdict = line.starts_with("ok  ") || line.starts_with("note  ") || line.starts_with("problem  ");
    CHECK((verdict || contains(line, "   type: ")));
  }
}

TEST_CASE("rondo doctor --json says the same as the text, for programs") {
  const Finished finished = doctor({"RONDO_STAGNG_BYTES=1M"}, {"--json"});
  CHECK(finished.code == 0);
  CHECK(finished.err == "");  // a rank would warn of the variable
  const auto report = nlohmann::json::parse(finished.out, nullptr, false);
  REQUIRE(report.is_object());
  CHECK(report.at("problems") == 0);
  CHECK(report.at("notes") >= 1);
  bool misspelt = false, tried = false;
  for (const auto& finding : report.at("findings")) {
    for (const char* key : {"check", "verdict", "meaning", "remedy"}) CHECK(finding.at(key).is_string());
    const std::string check = finding.at("check"), meaning = finding.at("meaning");
    if (check == "RONDO_STAGNG_BYTES") misspelt = finding.at("verdict") == "note" && contains(meaning, "RONDO_STAGING_BYTES");
    if (check == "2 processes, shm") tried = finding.at("verdict") == "ok";
  }
  CHECK(misspelt);
  CHECK(tried);
}

TEST_CASE("rondo doctor refuses a wrong flag in one line that names it") {
  CHECK(refusal(doctor({}, {"--jsn"}), {"doctor", "--jsn", "--json"}) == "");
  CHECK(refusal(doctor({}, {"all"}), {"doctor", "all", "--json"}) == "");
}

TEST_CASE("rondo doctor finds a refused variable and says what to type, with exit code 1") {
  for (const auto& [setting, words] :
       std::vector<std::pair<std::string, Words>>{{"RONDO_STAGING_BYTES=garbage", {"problem", "'garbage'", "64K", "unset RONDO_STAGING_BYTES"}},
                                                  {"RONDO_ALGORITHM=nonsense", {"problem", "'nonsense'", "two_shot", "unset RONDO_ALGORITHM"}},
                                                  {"RONDO_LOG=loud", {"problem", "'loud'", "debug", "unset RONDO_LOG"}}}) {
    const Finished finished = doctor({setting});
    INFO(finished.out << finished.err);
    CHECK(finished.code == 1);
    CHECK(finished.err == "");
    const std::string line = line_of(finished.out, setting.substr(0, setting.find('=')));
    for (const std::string& word : words) CHECK(contains(line, word));
    CHECK(contains(finished.out, "1 problem,"));
  }
}

TEST_CASE("rondo doctor finds a job that can't be joined") {
  const Finished finished = doctor({"RANK=0", "WORLD_SIZE="});
  INFO(finished.out);
  CHECK(finished.code == 1);
  CHECK(contains(line_of(finished.out, "launcher"), "WORLD_SIZE is not set"));
}

TEST_CASE("a variable with line breaks stays on the doctor's line") {
  const Finished finished = doctor({"RONDO_LOG=\nok  all is well"});
  CHECK(finished.code == 1);
  CHECK(contains(finished.out, "RONDO_LOG='?ok  all is well'"));
}

TEST_CASE("rondo doctor works under a low limit of descriptors, and what it says to type then helps") {
  const Finished enough = doctor_after("ulimit -n 32");
  INFO(enough.out << enough.err);
  CHECK(enough.code == 0);
  CHECK(contains(line_of(enough.out, "descriptors"), "limit 32"));

  const Finished few = doctor_after("ulimit -S -n 12; ulimit -H -n 64");
  INFO(few.out << few.err);
  CHECK(few.code == 1);
  CHECK(contains(line_of(few.out, "descriptors"), "type: ulimit -n 64"));
  CHECK(doctor_after("ulimit -S -n 12; ulimit -H -n 64; ulimit -n 64").code == 0);
}

TEST_CASE("a rank that crashes in a trial and a process that can't be started are findings, not the doctor's end") {
  const Finished crashed = doctor_after("ulimit -f 100");
  INFO(crashed.out << crashed.err);
  CHECK(crashed.code == 1);
  CHECK(contains(line_of(crashed.out, "size limits"), "ulimit -f unlimited"));
  CHECK(contains(line_of(crashed.out, "2 processes, shm"), "problem"));

  const Finished alone = run({rondo_program(), "doctor"}, {}, patience_s, Forks::refused);
  INFO(alone.out << alone.err);
  CHECK(alone.code == 1);
  CHECK(contains(line_of(alone.out, "2 processes, shm"), "cannot start a process"));
}

TEST_CASE("rondo doctor says when its report can't be written") {
  const Finished finished = run({"/bin/sh", "-c", rondo_program() + " doctor >/dev/full"}, {}, patience_s);
  CHECK(finished.code == 2);
  CHECK(contains(finished.err, "standard output"));
}
