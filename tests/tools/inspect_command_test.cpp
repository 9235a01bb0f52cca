// rondo inspect as its users meet it. What it sees of ranks: tests/communicator/inspect.cpp.
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "rondo/communicator.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "tools/subprocess.hpp"

TEST_CASE("rondo inspect prints the ranks of a process's jobs, as text and as JSON") {
  const auto ranks = rondo::Communicator::in_process(2);
  REQUIRE(ranks);
  const std::string process = std::to_string(getpid());
  const Finished text = run({rondo_program(), "inspect", process});
  INFO(text.out << text.err);
  CHECK(text.code == 0);
  CHECK(text.out.find("communicator 0 of 2 ranks: nobody waits") != std::string::npos);
  CHECK(text.out.find("rank 1 (process " + process + ") has made no call yet") != std::string::npos);
  const Finished written = run({rondo_program(), "inspect", "--json", process});
  const auto json = nlohmann::json::parse(written.out, nullptr, false);
  REQUIRE(json.is_array());
  REQUIRE(json.size() == 2);
  CHECK(json[1]["rank"] == 1);
  CHECK(json[1]["process"] == getpid());
}

TEST_CASE("rondo inspect names what it can't look into") {
  CHECK(refusal(run({rondo_program(), "inspect", "4194303"}), {"process 4194303", "there is no such process"}) == "");
  CHECK(refusal(run({rondo_program(), "inspect", "1x"}), {"PID", "1x"}) == "");
  CHECK(refusal(run({rondo_program(), "inspect", "0"}), {"PID", "1 to 4194304"}) == "");
}

TEST_CASE("rondo inspect joins flight records in files") {
  const rondo::test::Folder folder;
  const auto path = [&](std::uint32_t rank) { return (folder.path() / ("record-" + std::to_string(rank))).string(); };
  auto ranks = rondo::Communicator::in_process(2);
  REQUIRE(ranks);
  for (rondo::Communicator& rank : *ranks) std::ofstream(path(rank.rank())) << rank.flight_record();
  const Finished joined = run({rondo_program(), "inspect", "--records", path(0), path(1)});
  INFO(joined.out << joined.err);
  CHECK(joined.code == 0);
  CHECK(joined.out.find("rank 1 (process " + std::to_string(getpid()) + ") has made no call yet") != std::string::npos);
  CHECK(refusal(run({rondo_program(), "inspect", "--records", "/nowhere"}), {"cannot read /nowhere"}) == "");
  CHECK(refusal(run({rondo_program(), "inspect", "--records", "/dev/null"}), {"no flight record; accepted: text with"}) == "");
}
