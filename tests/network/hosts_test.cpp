// Ranks on several hosts: they find one another by their environment, get right results, and their bytes cross the network.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

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

TEST_CASE("ranks that are given rank 0's id meet by it, whatever else their environment says") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto first = [&]() -> std::string {
    auto id = Communicator::unique_id();
    if (!id) return to_string(id.error());
    if (id->size() > 127 || write(ends[1], id->data(), id->size()) != static_cast<ssize_t>(id->size())) return "the id is " + *id;
    auto made = Communicator::by_id(0, 2, *id, quick());
    return made ? every_collective(*made) : to_string(made.error());
  };
  const auto second = [&]() -> std::string {
    char id[128];
    const ssize_t length = read(ends[0], id, sizeof id);
    if (length <= 0) return "no id";
    auto made = Communicator::by_id(1, 2, std::string(id, static_cast<std::size_t>(length)), quick());
    return made ? every_collective(*made) : to_string(made.error());
  };
  CHECK(complaints(run_children({hosts.on(0, first), hosts.on(1, second)}, 60)) == "");
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("ranks that are threads of one process meet by an id, though rank 0 comes last") {
  const auto body = []() -> std::string {
    setenv("RONDO_NET_INTERFACES", "lo", 1);
    const auto id = Communicator::unique_id();
    if (!id) return to_string(id.error());
    std::array<std::string, 3> wrong;
    std::vector<std::thread> ranks;
    for (const std::uint32_t rank : {2u, 1u, 0u}) {
      ranks.emplace_back([&, rank] {
        auto made = Communicator::by_id(rank, 3, *id, quick());
        wrong[rank] = made ? every_collective(*made) : to_string(made.error());
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    for (std::thread& rank : ranks) rank.join();
    return wrong[0] + wrong[1] + wrong[2];
  };
  CHECK(complaints(run_children({body}, 60)) == "");
}

TEST_CASE("an id that rank 0 didn't make, or that isn't one, is an error that says so") {
  // In a child: this process's configuration must stay unread for the tests that change its environment.
  const auto body = []() -> std::string {
    const auto refused = [](std::uint32_t rank, const std::string& id, const char* words) {
      const auto made = Communicator::by_id(rank, 2, id, quick());
      const std::string text = made ? "it was taken" : to_string(made.error());
      return text.find(words) != std::string::npos ? "" : id + ": " + text + "\n";
    };
    const auto id = Communicator::unique_id();
    if (!id) return to_string(id.error());
    std::string wrong = refused(0, id->substr(0, id->size() - 1) + (id->back() == '0' ? "1" : "0"), "didn't make this unique id");
    const std::string key(64, 'a');
    for (const std::string& text : {std::string(), std::string("rondo1/"), id->substr(1), id->substr(0, id->size() - 1), *id + "0", "rondo1/127.0.0.1/0/" + key,
                                    "rondo1/127.0.0.1/99999/" + key, "rondo1/127.0.0.1/1/" + std::string(64, 'g')})
      wrong += refused(1, text, "isn't a unique id");
    return wrong;
  };
  CHECK(complaints(run_children({body})) == "");
}

TEST_CASE("the interface that RONDO_NET_INTERFACES names is used, and names without an address are an error that says which have one") {
  if (!can_make_hosts()) return;
  const Hosts hosts(1);
  REQUIRE(hosts.trouble() == "");
  const auto id_with = [&](const char* names) {
    return complaints(run_children({hosts.on(0, [names]() -> std::string {
      setenv("RONDO_NET_INTERFACES", names, 1);
      const auto id = Communicator::unique_id();
      return id ? *id : to_string(id.error());
    })}));
  };
  CHECK(id_with("none,eth").find("rondo1/" + Hosts::address(0) + "/") != std::string::npos);
  CHECK(id_with("lo").find("rondo1/127.0.0.1/") != std::string::npos);
  const std::string wrong = id_with("none,wlan7");
  CHECK(wrong.find("RONDO_NET_INTERFACES='none,wlan7'") != std::string::npos);
  CHECK(wrong.find("accepted: some of lo, eth") != std::string::npos);
}

TEST_CASE("ranks listen at the ports of RONDO_NET_PORTS, and where none of them is free that is an error which names them") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  const auto job = [&](const char* ports) {
    std::vector<ChildBody> ranks;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      ranks.push_back(hosts.on(rank / 2, [rank, ports]() -> std::string {
        setenv("RONDO_NET_PORTS", ports, 1);
        Hosts::set_job(rank, 4, 2, 29500);
        auto made = Communicator::from_environment(quick());
        if (!made) return to_string(made.error());
        // Of a communicator that is split off, too: its links listen again.
        auto part = made->split(0, 0);
        return part ? every_collective(**part) : to_string(part.error());
      }));
    return complaints(run_children(ranks, 60));
  };
  CHECK(job("31000-31003") == "");
  CHECK(job("31000-31000").find("no port of RONDO_NET_PORTS=31000-31000 is free") != std::string::npos);
  const auto id = complaints(run_children({hosts.on(0, []() -> std::string {
    setenv("RONDO_NET_PORTS", "31007-31009", 1);
    const auto made = Communicator::unique_id();
    return made ? *made : to_string(made.error());
  })}));
  CHECK(id.find("/31007/") != std::string::npos);
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
