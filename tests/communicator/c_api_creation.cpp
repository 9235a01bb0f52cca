// The C interface: communicators made with options, and what they tell of themselves.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "c_api_ranks.hpp"
#include "rondo/topology.hpp"
#include "support/catch.hpp"
#include "support/children.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/folders.hpp"

namespace {

rondo_options options_with(double timeout, double bootstrap, const char* algorithm, const char* transport) {
  return {sizeof(rondo_options), timeout, bootstrap, algorithm, transport, 0, 0, 0, 0, nullptr, nullptr};
}

/// "" when the options are refused for `word`.
std::string refused(const rondo_options& options, rondo_status status, const std::string& word) {
  Rank none = nullptr;
  const std::string wrong = expect(rondo_create_in_process_with_options(1, &options, &none), status, word);
  return none == nullptr ? wrong : "a communicator that was refused";
}

}  // namespace

TEST_CASE("through C a communicator gets the options it is made with", "[threads]") {
  const auto sums = [](Rank c, std::uint32_t) -> std::string {
    float value = 1;
    char* record = nullptr;
    const std::string wrong = first_wrong({expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
                                           expect(rondo_flight_record(c, &record), RONDO_SUCCESS)});
    return first_wrong({wrong, expect_word(taken(record), "recursive_doubling"), value == 2 ? "" : "a wrong sum"});
  };
  CHECK(run_two(sums, options_with(INFINITY, INFINITY, "recursive_doubling", "shm")) == "");
  const auto never_come = [](Rank c, std::uint32_t rank) { return rank == 1 ? "" : expect(rondo_barrier(c), RONDO_DEADLINE_EXCEEDED, "200 ms"); };
  CHECK(run_two(never_come, options_with(0.2, 0, nullptr, nullptr)) == "");
  const auto unproved = [](Rank c, std::uint32_t) {
    return expect(rondo_use_plan(c, RONDO_SOURCE_DIR "/tests/golden/inline-all_reduce-2.json", 1), RONDO_UNSUPPORTED, "this communicator is strict");
  };
  rondo_options strict = options_with(0, 0, nullptr, nullptr);
  strict.strict = 1;
  CHECK(run_two(unproved, strict) == "");
  const auto inlined = [](Rank c, std::uint32_t) {
    float value = 1;
    return first_wrong({expect(rondo_use_plan(c, RONDO_SOURCE_DIR "/tests/golden/inline-all_reduce-2.json", 0), RONDO_SUCCESS),
                        expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_UNSUPPORTED, "RONDO_INTEGRITY")});
  };
  rondo_options checked = options_with(0, 0, nullptr, nullptr);
  checked.integrity = 1;
  CHECK(run_two(inlined, checked) == "");
  // Coalesced calls are preceded by an agreement, which the record shows.
  const auto agreed = [](bool expected) {
    return [expected](Rank c, std::uint32_t) -> std::string {
      float value = 1;
      char* record = nullptr;
      const std::string wrong = first_wrong({expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
                                             expect(rondo_flight_record(c, &record), RONDO_SUCCESS)});
      const bool found = taken(record).find("u64 (min)") != std::string::npos;
      return first_wrong({wrong, found == expected ? "" : "coalesce_bytes was not what the program set"});
    };
  };
  rondo_options coalescing = options_with(0, 0, nullptr, nullptr);
  coalescing.coalesce_bytes = 4096;
  coalescing.coalesce_seconds = 0.001;
  CHECK(run_two(agreed(true), coalescing) == "");
  coalescing.size = offsetof(rondo_options, coalesce_bytes);  // a program of the version before: what lies behind its struct isn't read
  CHECK(run_two(agreed(false), coalescing) == "");
}

TEST_CASE("through C options without sense are refused, each by its name") {
  CHECK(refused(options_with(-1, 0, nullptr, nullptr), RONDO_INVALID_ARGUMENT, "timeout_seconds is -1") == "");
  CHECK(refused(options_with(NAN, 0, nullptr, nullptr), RONDO_INVALID_ARGUMENT, "timeout_seconds is nan") == "");
  CHECK(refused(options_with(0, -INFINITY, nullptr, nullptr), RONDO_INVALID_ARGUMENT, "bootstrap_timeout_seconds is -inf") == "");
  CHECK(refused(options_with(0, 0, "fastest", nullptr), RONDO_INVALID_ARGUMENT, "unknown algorithm 'fastest'") == "");
  CHECK(refused(options_with(0, 0, nullptr, "pigeon"), RONDO_INVALID_ARGUMENT, "unknown transport 'pigeon'") == "");
  rondo_options hasty = options_with(0, 0, nullptr, nullptr);
  hasty.coalesce_seconds = 2;
  CHECK(refused(hasty, RONDO_INVALID_ARGUMENT, "coalesce_time is 2000000000 ns; accepted: 0 to 1 s") == "");
  hasty.coalesce_seconds = -1;
  CHECK(refused(hasty, RONDO_INVALID_ARGUMENT, "coalesce_seconds is -1") == "");
  rondo_options unset{};
  CHECK(refused(unset, RONDO_INVALID_ARGUMENT, "the size of rondo_options is 0; accepted: sizeof(rondo_options)") == "");
  unset.size = SIZE_MAX;
  CHECK(refused(unset, RONDO_INVALID_ARGUMENT, "the size of rondo_options") == "");
  Rank none = nullptr;
  CHECK(expect(rondo_create_in_process(1, -1, &none), RONDO_INVALID_ARGUMENT, "timeout_seconds is -1") == "");
  CHECK(expect(rondo_create_in_process_with_options(0, nullptr, &none), RONDO_INVALID_ARGUMENT, "0 ranks; accepted: 1 to") == "");
  CHECK(none == nullptr);
}

TEST_CASE("ranks that are known to stay away aren't waited for") {
  const auto job = fresh_job();
  const auto body = [&](std::uint32_t rank) {
    return [&, rank]() -> std::string {
      rondo_options options = options_with(0, 30, nullptr, nullptr);
      std::uint32_t missing = 1;
      options.context = &missing;
      options.stays_away = [](void* context, std::uint32_t asked) { return asked == *static_cast<std::uint32_t*>(context) ? 1 : 0; };
      Rank made = nullptr;
      const auto begin = std::chrono::steady_clock::now();
      const std::string wrong = expect(rondo_create_local_with_options(rank, 3, job.c_str(), &options, &made), RONDO_PEER_FAILED, "rank 1");
      return std::chrono::steady_clock::now() - begin < std::chrono::seconds(5) ? wrong : "it was waited for all the same";
    };
  };
  CHECK(complaints(run_children({body(0), body(2)}, 20)) == "");
}

TEST_CASE("through C ranks in processes are made by a unique id that rank 0 hands to the others") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto rank = [&](std::uint32_t number) {
    return [&ends, number]() -> std::string {
      setenv("RONDO_NET_INTERFACES", "lo", 1);
      rondo_unique_id id{};
      std::string wrong;
      if (number == 0) wrong = expect(rondo_get_unique_id(&id), RONDO_SUCCESS);
      if (number == 0 && write(ends[1], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) wrong += "the id can't be handed over";
      if (number != 0 && read(ends[0], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) wrong += "no id has come";
      const rondo_options options = options_with(60, 60, nullptr, nullptr);
      Rank c = nullptr;
      float value = 1;
      wrong = first_wrong({wrong, expect(rondo_create_by_id(number, 2, &id, &options, &c), RONDO_SUCCESS),
                           expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS)});
      rondo_destroy(c);
      return first_wrong({wrong, value == 2 ? "" : "a wrong sum"});
    };
  };
  CHECK(complaints(run_children({rank(0), rank(1)}, 60)) == "");
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("through C ranks in processes are made with options, and those that don't come are named after the time that was set") {
  const std::string job = "c_api_creation" + std::to_string(getpid());
  const auto rank = [&](std::uint32_t number) {
    return [&job, number]() -> std::string {
      Rank c = nullptr;
      const rondo_options options = options_with(60, 60, "tree", nullptr);
      float value = 1;
      const std::string wrong = first_wrong({expect(rondo_create_local_with_options(number, 2, job.c_str(), &options, &c), RONDO_SUCCESS),
                                             expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS)});
      rondo_destroy(c);
      return first_wrong({wrong, value == 2 ? "" : "a wrong sum"});
    };
  };
  CHECK(complaints(run_children({rank(0), rank(1)})) == "");
  const auto alone = [] {
    Rank c = nullptr;
    const rondo_options options = options_with(0, 0.2, nullptr, nullptr);
    const std::string lonely = "c_api_creation_alone" + std::to_string(getpid());
    return expect(rondo_create_local_with_options(0, 2, lonely.c_str(), &options, &c), RONDO_DEADLINE_EXCEEDED, "rank");
  };
  CHECK(complaints(run_children({alone})) == "");
  const auto from_environment = []() -> std::string {
    for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, "0", 1);
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, "1", 1);
    setenv("MASTER_PORT", "29511", 1);
    Rank c = nullptr;
    const rondo_options options = options_with(0, 30, "fastest", nullptr);
    const std::string wrong = first_wrong({expect(rondo_create_from_environment_with_options(&options, &c), RONDO_INVALID_ARGUMENT, "fastest"),
                                           expect(rondo_create_from_environment_with_options(nullptr, &c), RONDO_SUCCESS)});
    rondo_destroy(c);
    c = nullptr;
    const std::string short_form = expect(rondo_create_from_environment(0, &c), RONDO_SUCCESS);
    rondo_destroy(c);
    return first_wrong({wrong, short_form});
  };
  CHECK(complaints(run_children({from_environment})) == "");
}

TEST_CASE("through C the ranks' machines are shown as one graph", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    char* json = nullptr;
    if (auto wrong = expect(rondo_topology(c, &json), RONDO_SUCCESS); !wrong.empty()) return wrong;
    const auto topology = rondo::read_topology_json(taken(json));
    if (!topology) return to_string(topology.error());
    return topology->ranks.size() == 2 && !topology->nodes.empty() ? "" : "not two ranks on a machine";
  };
  CHECK(run_two(body) == "");
}
