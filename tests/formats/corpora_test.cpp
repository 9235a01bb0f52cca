#include <filesystem>

#include "perform.hpp"
#include "rondo/formats.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

std::vector<std::string> published_plans() {
  std::vector<std::string> paths;
  for (const char* folder : {"msccl", "mscclpp"}) {
    const std::filesystem::path path = std::filesystem::path(RONDO_SOURCE_DIR "/../shared/corpora") / folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) paths.push_back(entry.path().string());
  }
  if (paths.empty()) WARN("../shared/corpora is absent: its plans aren't tried");
  return paths;
}

}  // namespace

TEST_CASE("published plans import and do what their collective promises") {
  for (const std::string& path : published_plans()) {
    INFO(path);
    const Result<Plan> plan = load_plan(path);
    if (!plan) FAIL(to_string(plan.error()));
    const Result<void> form = check_form(*plan);
    if (!form) FAIL(to_string(form.error()));
    CHECK(test::perform(*plan) == "");
    CHECK(test::perform(lower(insert_shadows(*plan))) == "");
  }
}
