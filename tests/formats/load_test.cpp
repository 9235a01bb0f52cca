#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "perform.hpp"
#include "rondo/formats.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"

using namespace rondo;
using test::data;

namespace {

/// A file that goes with the test.
class File {
 public:
  explicit File(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / ("rondo-plan-" + std::to_string(::getpid()))).string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string load_error(const std::string& path) {
  const Result<Plan> plan = load_plan(path);
  return plan ? "" : to_string(plan.error());
}

}  // namespace

TEST_CASE("a plan file's form is told by its content") {
  const Result<Plan> xml = load_plan(File("\xef\xbb\xbf \n" + data("ring2.xml")).path());
  REQUIRE(xml);
  CHECK(xml->header.algorithm == "ring2");
  const Result<Plan> json = load_plan(File("\n\t" + data("two_shot_packets.json")).path());
  REQUIRE(json);
  CHECK(json->header.algorithm == "two_shot_packets");
}

TEST_CASE("an imported plan saved as Rondo JSON loads again as the same plan") {
  for (const char* name : {"ring3.xml", "two_shot_packets.json", "two_shot_direct.json"}) {
    INFO(name);
    const Result<Plan> imported = load_plan(RONDO_SOURCE_DIR "/tests/formats/data/" + std::string(name));
    REQUIRE(imported);
    const Result<Plan> loaded = load_plan(File(write_plan(*imported)).path());
    if (!loaded) FAIL(to_string(loaded.error()));
    CHECK(loaded->header == imported->header);
    for (std::uint32_t rank = 0; rank < imported->header.ranks; ++rank) {
      CHECK(loaded->program(rank) == imported->program(rank));
    }
  }
}

TEST_CASE("only a top-level \"gpus\" makes a JSON file one of MSCCL++") {
  const Result<Plan> plan = load_plan(File(R"({"note": {"gpus": []}, "gpus, not": "gpus"})").path());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().where != "import_mscclpp_json");
}

TEST_CASE("a file that is no plan is an error that names the file and what is accepted") {
  const File file("plan: yes\n");
  CHECK(load_error(file.path())
            .find(file.path() + ": neither JSON nor XML; a plan is Rondo JSON, MSCCL XML or MSCCL++ JSON") !=
        std::string::npos);
  const File empty("");
  CHECK(load_error(empty.path()).find("neither JSON nor XML") != std::string::npos);
  const File broken("<algo");
  CHECK(load_error(broken.path()).find(broken.path() + ": not well-formed XML") != std::string::npos);
}

TEST_CASE("a plan file that can't be read is an io error with the system's number") {
  const Result<Plan> absent = load_plan("/nonexistent/plan.xml");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == Errc::io);
  CHECK(absent.error().native == ENOENT);
  CHECK(absent.error().detail.find("/nonexistent/plan.xml") == 0);
  const Result<Plan> folder = load_plan("/");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::io);
}
