// rondo calibrate, and what rondo plan makes of what it has kept; bench_predict's flags.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rondo/calibration.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/folders.hpp"
#include "tools/plans.hpp"
#include "tools/subprocess.hpp"

namespace {

using namespace rondo;
using Words = std::vector<std::string>;

/// Where a calibration is to be kept: a folder that isn't there yet.
struct Cache {
  rondo::test::Folder folder;
  std::filesystem::path path() const { return folder.path() / "cache"; }
  std::string setting() const { return "RONDO_CACHE=" + path().string(); }
};

std::string bench_predict() { return RONDO_BINARY_DIR "/bin/bench_predict"; }

}  // namespace

TEST_CASE("rondo calibrate keeps what it measures, and rondo plan explains itself by it") {
  const Cache folder;
  REQUIRE(!folder.folder.path().empty());
  const Finished before = run({rondo_program(), "calibrate", "--show"}, {folder.setting()});
  CHECK(before.code == 0);
  CHECK(contains(before.out, "not there yet"));
  CHECK(contains(before.out, "assumed, "));
  CHECK(!std::filesystem::exists(folder.path()));
  const Finished measured = run({rondo_program(), "calibrate"}, {folder.setting()});
  CHECK(measured.code == 0);
  CHECK(contains(measured.out, folder.path().string() + "/calibration-"));
  const Finished after = run({rondo_program(), "calibrate", "--show"}, {folder.setting()});
  CHECK(after.code == 0);
  CHECK(contains(after.out, ": kept"));
  CHECK(contains(after.out, "measured by rondo calibrate"));
  const Words plan{rondo_program(), "plan", "all_reduce", "--ranks", "2", "--bytes", "1M", "--explain"};
  CHECK(contains(run(plan, {folder.setting()}).out, "measured by rondo calibrate"));
  CHECK(!contains(run(plan, {"RONDO_CACHE=/nowhere"}).out, "measured by rondo calibrate"));
}

TEST_CASE("rondo calibrate says which folder or file it can't use") {
  CHECK(refusal(run({rondo_program(), "calibrate", "--show"}, {"RONDO_CACHE=here"}), {"RONDO_CACHE='here'", "absolute path"}) == "");
  CHECK(refusal(run({rondo_program(), "calibrate", "--loud"}, {}), {"--loud", "--show"}) == "");
  const Cache folder;
  REQUIRE(!folder.folder.path().empty());
  REQUIRE(run({rondo_program(), "calibrate"}, {folder.setting()}).code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) std::ofstream(entry.path()) << "{";
  CHECK(refusal(run({rondo_program(), "calibrate", "--show"}, {folder.setting()}), {folder.path().string() + "/calibration-", "line 1"}) == "");
  const Finished nowhere = run({rondo_program(), "calibrate"}, {"RONDO_CACHE=/dev/null/here"});
  CHECK(nowhere.code == 1);
  CHECK(contains(nowhere.err, "/dev/null/here"));
}

TEST_CASE("bench_predict prints predictions beside measured times, and refuses what makes no sense") {
  const Finished finished =
      run({bench_predict(), "--ops", "all_reduce,barrier", "--sizes", "64,4K", "--rounds", "1", "--batch-ms", "0.05"}, {"RONDO_CACHE=/nowhere"});
  CHECK(finished.code == 0);
  CHECK(contains(finished.out, "19 parameters at 2 ranks"));
  CHECK(contains(finished.out, "geometric mean error"));
  CHECK(contains(finished.out, "geometric mean regret"));
  CHECK(refusal(run({bench_predict(), "--ops", "all_redcue"}, {}), {"all_redcue", "all_reduce"}) == "");
  CHECK(refusal(run({bench_predict(), "--sizes", "64X"}, {}), {"64X", "K or M"}) == "");
  CHECK(refusal(run({bench_predict(), "--ranks", "1"}, {}), {"--ranks", "2 to 64"}) == "");
}
