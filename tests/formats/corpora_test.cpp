// Every plan file at hand: imported, proved, performed on numbers, and run between ranks.
#include <cstdio>
#include <filesystem>

#include "benchmarks/bench/data.hpp"
#include "perform.hpp"
#include "rondo/formats.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"
#include "support/ranks.hpp"

using namespace rondo;

namespace {

void add_files(std::vector<std::string>& paths, const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path().string());
}

/// Those of the tests, and the published ones where they are.
std::vector<std::string> plan_files() {
  std::vector<std::string> paths;
  for (const char* folder : {"msccl", "mscclpp"})
    add_files(paths, std::filesystem::path(RONDO_SOURCE_DIR "/../shared/corpora") / folder);
  if (paths.empty()) std::puts("rondo-skip: corpora");  // see tests/allowed-skips.txt
  add_files(paths, RONDO_SOURCE_DIR "/tests/formats/data");
  return paths;
}

std::string violations(const Plan& plan) {
  std::string all;
  for (const Violation& violation : verify(plan).violations) all += to_string(violation) + "\n";
  return all;
}

/// Runs `plan` on `count` elements a block in each way of lying in memory that its header claims.
std::string run_plan(Communicator& communicator, const Plan& plan, std::uint64_t count) {
  const Collective collective = plan.header.collective;
  const Shape shape{collective, DataType::f32, ReduceOp::sum, communicator.size(), communicator.rank(), plan.header.root, count};
  const BlockCounts blocks = block_counts(collective, shape.ranks);
  for (const bool in_place : {false, true}) {
    if (!(in_place ? plan.header.in_place : plan.header.out_of_place)) continue;
    std::vector<float> first(count * std::max(blocks.input, blocks.output)), second(count * blocks.output);
    float* input = first.data();
    float* output = in_place ? first.data() : second.data();
    if (in_place && collective == Collective::all_gather) input += shape.rank * count;
    if (in_place && collective == Collective::reduce_scatter) output += shape.rank * count;
    fill_input(shape, count, input);
    const Call call{collective, input, output, count, shape.type, shape.op, shape.root};
    if (auto done = communicator.run(call); !done) return to_string(done.error());
    if (const std::uint64_t wrong = count_wrong(shape, count, output); wrong != 0)
      return std::to_string(wrong) + " of " + std::to_string(count) + " wrong" + (in_place ? ", in place" : "");
  }
  return "";
}

}  // namespace

TEST_CASE("plan files import, are proved, and do what their collective promises, also with shadows and lowered") {
  for (const std::string& path : plan_files()) {
    INFO(path);
    const Result<Plan> plan = load_plan(path);
    if (!plan) FAIL(to_string(plan.error()));
    for (const Plan& form : {*plan, lower(insert_shadows(*plan))}) {
      CHECK(violations(form) == "");
      CHECK(test::perform(form) == "");
    }
  }
}

TEST_CASE("plan files run right between ranks, at counts that are and aren't whole chunks") {
  for (const std::string& path : plan_files()) {
    INFO(path);
    const Result<Plan> plan = load_plan(path);
    REQUIRE(plan);
    if (plan->header.collective == Collective::all_to_all) continue;  // communicators don't serve it
    const auto body = [&](Communicator& communicator) -> std::string {
      if (auto used = communicator.use_plan(*plan); !used) return to_string(used.error());
      for (const std::uint64_t count : {1u, 4096u, 50'021u})
        if (auto wrong = run_plan(communicator, *plan, count); !wrong.empty()) return wrong;
      return "";
    };
    CHECK(complaints(run_threads(plan->header.ranks, body)) == "");
  }
}
