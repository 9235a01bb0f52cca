// The C interface between two ranks: calls as values, the plans they run, and plans brought along.
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "c_api_ranks.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"

namespace {

rondo_call sum_of_two(const float* input, float* output) {
  return {sizeof(rondo_call), RONDO_ALL_REDUCE, RONDO_F32, RONDO_SUM, 0, input, output, 2, 0, nullptr, nullptr};
}

rondo_status run_and_wait(Rank c, const rondo_call& call, rondo_work** work) {
  if (const rondo_status started = rondo_start(c, &call, work); started != RONDO_SUCCESS) return started;
  const rondo_status ended = rondo_work_wait(*work);
  rondo_work_destroy(*work);
  return ended;
}

/// A file of this process, removed at the end.
struct PlanFile {
  std::string path = RONDO_BINARY_DIR "/c_api_plan.json";
  explicit PlanFile(const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
  ~PlanFile() { std::remove(path.c_str()); }
};

std::string plan_of(Rank c, const rondo_call& call) {
  char* json = nullptr;
  return rondo_plan_for(c, &call, &json) == RONDO_SUCCESS ? taken(json) : std::string("no plan: ") + rondo_last_error();
}

/// The all-reduce's plan between two ranks, as text.
std::string sum_plan() {
  std::string json;
  const auto body = [&json](Rank c, std::uint32_t rank) -> std::string {
    if (rank == 0) json = plan_of(c, sum_of_two(nullptr, nullptr));
    return "";
  };
  return run_two(body, {sizeof(rondo_options), 0, 0, "ring", nullptr, 0, 0, 0, 0, nullptr, nullptr}) + json;
}

}  // namespace

TEST_CASE("through C a call as a value runs and starts every collective", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const float mine = static_cast<float>(rank + 1);
    const std::vector<float> in{mine, 10 * mine};
    const std::vector<std::vector<float>> wanted{
        {3, 30}, {3, 30}, {2, 20}, {rank == 0 ? 3.0f : 30.0f}, {1, 10, 2, 20}, rank == 0 ? std::vector<float>{1, 2} : std::vector<float>{10, 20},
        {},      {1, 10, 2, 20}, {rank == 0 ? 2.0f : 20.0f}, rank == 0 ? std::vector<float>{1, 10} : std::vector<float>{3, 30}, {}};
    const std::uint64_t counts[] = {2, 2, 2, 1, 2, 1, 0, 2, 1, 2, 0};
    for (int k = 0; k <= RONDO_BARRIER; ++k) {
      const auto collective = static_cast<rondo_collective>(k);
      if (collective == RONDO_ALL_TO_ALL_V) continue;
      const bool root_only = (collective == RONDO_REDUCE || collective == RONDO_GATHER) && rank == 0;
      const auto expected = root_only ? std::vector<float>(4, -1) : wanted[static_cast<std::size_t>(k)];
      std::vector<float> ran(expected.size(), -1), started(expected.size(), -1);
      const rondo_call call{sizeof(rondo_call), collective, RONDO_F32, RONDO_SUM, 1, in.data(), ran.data(), counts[k], 0, nullptr, nullptr};
      rondo_call other = call;
      other.output = started.data();
      rondo_work* work = nullptr;
      const std::string what = "collective " + std::to_string(k);
      const std::string wrong = first_wrong({expect(rondo_run(c, &call), RONDO_SUCCESS), expect(run_and_wait(c, other, &work), RONDO_SUCCESS),
                                             expect_values(ran, expected, "run"), expect_values(started, expected, "start")});
      if (!wrong.empty()) return what + ": " + wrong;
    }
    return "";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C every reduction multiplies by each rank's own factor", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const std::vector<float> in{static_cast<float>(rank + 1), 10 * static_cast<float>(rank + 1)};
    const std::vector<std::vector<float>> wanted{{6, 60}, {6, 60}, {rank == 0 ? 6.0f : 60.0f},
                                                 rank == 0 ? std::vector<float>{5, 50} : std::vector<float>{6, 60}};
    const rondo_collective collectives[] = {RONDO_ALL_REDUCE, RONDO_REDUCE, RONDO_REDUCE_SCATTER, RONDO_SCAN};
    for (std::size_t k = 0; k < 4; ++k) {
      std::vector<float> ran(wanted[k].size(), -1), started(wanted[k].size(), -1);
      const double factor = rank == 0 ? 5 : 0.5;
      rondo_call call{sizeof(rondo_call), collectives[k], RONDO_F32, RONDO_PREMUL_SUM, 0, in.data(), ran.data(), ran.size(), factor, nullptr, nullptr};
      rondo_work* work = nullptr;
      std::string wrong = expect(rondo_run(c, &call), RONDO_SUCCESS);
      call.output = started.data();
      wrong += expect(run_and_wait(c, call, &work), RONDO_SUCCESS);
      if (collectives[k] != RONDO_REDUCE || rank == 0)
        wrong += first_wrong({expect_values(ran, wanted[k], "run"), expect_values(started, wanted[k], "start")});
      if (!wrong.empty()) return "reduction " + std::to_string(k) + ": " + wrong;
    }
    return "";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a call's struct may be larger than this library knows, as long as nothing is in what it doesn't know", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    const float in[] = {1, 2};
    float out[] = {0, 0};
    struct {
      rondo_call known;
      std::uint64_t unknown;
    } newer{sum_of_two(in, out), 0};
    newer.known.size = sizeof newer;
    rondo_call none = sum_of_two(in, out), huge = none;
    none.size = 0;
    huge.size = std::size_t{1} << 40;
    rondo_work* work = nullptr;
    char* json = nullptr;
    const std::string fitting = expect(rondo_run(c, &newer.known), RONDO_SUCCESS);
    newer.unknown = 1;
    return first_wrong({fitting, out[0] == 2 && out[1] == 4 ? "" : "a wrong sum",
                        expect(rondo_run(c, &newer.known), RONDO_UNSUPPORTED, "rondo_call has a field set that this version of the library doesn't know"),
                        expect(rondo_run(c, &none), RONDO_INVALID_ARGUMENT, "the size of rondo_call is 0; accepted: sizeof(rondo_call)"),
                        expect(rondo_start(c, &none, &work), RONDO_INVALID_ARGUMENT, "size"),
                        expect(rondo_plan_for(c, &huge, &json), RONDO_INVALID_ARGUMENT, "size"), work == nullptr && json == nullptr ? "" : "a result"});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a call of a program of the version before is run, and what lies behind its struct isn't read", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    const float in[] = {1, 2};
    float out[] = {0, 0};
    rondo_call old = sum_of_two(in, out);
    old.size = offsetof(rondo_call, inputs);
    old.inputs = reinterpret_cast<const void* const*>(&old);
    old.outputs = reinterpret_cast<void* const*>(&old);
    rondo_call newer = old;
    newer.size = sizeof newer;
    return first_wrong({expect(rondo_run(c, &old), RONDO_SUCCESS), out[0] == 2 && out[1] == 4 ? "" : "a wrong sum",
                        expect(rondo_run(c, &newer), RONDO_INVALID_ARGUMENT, "inputs given to all_reduce; accepted: reduce_scatter, scatter")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a call's plan is shown with those that lost", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    const std::string sum = plan_of(c, sum_of_two(nullptr, nullptr));
    const std::string blocks = plan_of(c, {sizeof(rondo_call), RONDO_ALL_TO_ALL_V, RONDO_F32, RONDO_SUM, 0, nullptr, nullptr, 0, 0, nullptr, nullptr});
    return first_wrong({expect_word(sum, "\"collective\": \"all_reduce\""), expect_word(sum, "\"considered\""), expect_word(sum, "chosen"),
                        expect_word(blocks, "\"collective\": \"all_to_all_v\"")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a plan from a file is proved and run, and a wrong one is refused", "[threads]") {
  const std::string ring = sum_plan();
  REQUIRE(expect_word(ring, "\"algorithm\": \"ring\"") == "");
  const PlanFile file(ring);
  const auto use = [&](Rank c, std::uint32_t) -> std::string {
    const float in[] = {1, 2};
    float out[] = {0, 0};
    const rondo_call sum = sum_of_two(in, out);
    char* record = nullptr;
    const std::string before = plan_of(c, sum);
    const std::string wrong = first_wrong({expect_word(before, "\"algorithm\": \"inline\""), expect(rondo_use_plan(c, file.path.c_str(), 0), RONDO_SUCCESS),
                                           expect(rondo_run(c, &sum), RONDO_SUCCESS), expect(rondo_flight_record(c, &record), RONDO_SUCCESS)});
    return first_wrong({wrong, out[0] == 2 && out[1] == 4 ? "" : "a wrong sum", expect_word(taken(record), "ring"),
                        expect(rondo_use_plan(c, "/nowhere/plan.json", 0), RONDO_IO, "/nowhere/plan.json"),
                        expect(rondo_use_plan(c, nullptr, 0), RONDO_INVALID_ARGUMENT, "path is null")});
  };
  CHECK(run_two(use) == "");
}

TEST_CASE("through C a plan that is wrong is refused, and run as it is when it need not be proved", "[threads]") {
  const PlanFile keeps_its_own(R"({"rondo_plan": 1, "algorithm": "keeps_its_own", "collective": "all_reduce", "protocol": "direct", "ranks": 2, "programs": [
    {"rank": 0, "lanes": [[{"copy": "input[0]", "to": ["output[0]"]}]]}, {"rank": 1, "lanes": [[{"copy": "input[0]", "to": ["output[0]"]}]]}]})");
  const auto body = [&](Rank c, std::uint32_t) -> std::string {
    const float in[] = {1, 2};
    float right[] = {0, 0}, kept[] = {0, 0};
    const rondo_call sum = sum_of_two(in, right), wrong_sum = sum_of_two(in, kept);
    return first_wrong({expect(rondo_use_plan(c, keeps_its_own.path.c_str(), 0), RONDO_INVALID_PLAN, "plan 'keeps_its_own' is wrong"),
                        expect(rondo_run(c, &sum), RONDO_SUCCESS), expect(rondo_use_plan(c, keeps_its_own.path.c_str(), 1), RONDO_SUCCESS),
                        expect(rondo_run(c, &wrong_sum), RONDO_SUCCESS), right[0] == 2 ? "" : "the refused plan was run",
                        kept[0] == 1 ? "" : "another plan was run"});
  };
  CHECK(run_two(body) == "");
}
