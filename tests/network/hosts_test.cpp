// Ranks on several hosts: they find one another by their environment, get right results, and their bytes cross the network.
#include <cstdlib>
#include <numeric>

#include "jobs.hpp"
#include "support/catch.hpp"

using namespace rondo;

TEST_CASE("ranks on several hosts get right results of every collective") {
  if (!can_make_hosts()) return;
  for (const auto& [hosts, per_host] : {std::pair{2u, 1u}, std::pair{3u, 1u}, std::pair{2u, 2u}}) {
    INFO(hosts << " hosts, " << per_host << " ranks on each");
    const Hosts all(hosts);
    REQUIRE(all.trouble() == "");
    CHECK(complaints(run_job(all, hosts, per_host, [](Communicator& communicator) { return every_collective(communicator); })) == "");
  }
}

TEST_CASE("the bytes of an all_reduce between hosts cross the network, as many as its plan says and few more") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  constexpr std::uint64_t count = 1 << 20;
  const auto before = hosts.bytes_sent(0);
  CHECK(complaints(run_job(hosts, 2, 1, [](Communicator& communicator) -> std::string {
          std::vector<float> values(count, static_cast<float>(communicator.rank() + 1));
          if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32); !done) return to_string(done.error());
          return values.front() == 3 && values.back() == 3 ? "" : "wrong sum";
        })) == "");
  const auto sent = static_cast<double>(hosts.bytes_sent(0) - before);
  const double wanted = count * sizeof(float);  // of 2 ranks each sends the whole once: half of it to be reduced, half reduced
  CHECK(sent > wanted);
  CHECK(sent < 1.1 * wanted + 200e3);  // headers, acknowledgements, and what is said at creation
}

TEST_CASE("ranks of one host that don't know it meet over the network, and then share memory") {
  if (!can_make_hosts()) return;
  const Hosts hosts(1);
  REQUIRE(hosts.trouble() == "");
  const auto body = [](std::uint32_t rank) {
    return [rank]() -> std::string {
      Hosts::set_job(rank, 2, 1, 29500);
      auto made = Communicator::from_environment(quick());
      if (!made) return to_string(made.error());
      auto memory = made->allocate(4096);  // of shared memory alone
      return memory ? every_collective(*made) : to_string(memory.error());
    };
  };
  CHECK(complaints(run_children({hosts.on(0, body(0)), hosts.on(0, body(1))}, 60)) == "");
}
