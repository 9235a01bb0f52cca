// shrink() and grow() where ranks are on several hosts: those that are left go on, whoever died where.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "jobs.hpp"
#include "support/arrivals.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/shrinking.hpp"

using namespace rondo;

namespace {

using Clock = std::chrono::steady_clock;
constexpr double shrink_seconds = 2;  // the contract, at 8 ranks

using Placement = std::vector<std::uint32_t>;  // the host of each rank

std::string name_of(const Placement& on) { return Catch::StringMaker<Placement>::convert(on); }

/// What a survivor does once its call has failed: goes on with all ranks but those of `dead`, in two seconds.
std::string goes_on_without(Communicator& communicator, const std::vector<bool>& dead) {
  const auto begin = Clock::now();
  auto survivors = communicator.shrink();
  if (!survivors) return to_string(survivors.error());
  std::uint32_t own = 0, left = 0;
  float sum = 0;
  for (std::uint32_t rank = 0; rank < dead.size(); ++rank) {
    if (dead[rank]) continue;
    own += rank < communicator.rank();
    ++left;
    sum += static_cast<float>(rank + 1);
  }
  if (survivors->size() != left || survivors->rank() != own)
    return "rank " + std::to_string(survivors->rank()) + " of " + std::to_string(survivors->size());
  if (survivors->parent_ranks()[own] != communicator.rank()) return "another rank before";
  if (auto wrong = sums_to(*survivors, static_cast<float>(communicator.rank() + 1), sum); !wrong.empty()) return wrong;
  if (const double took = seconds_since(begin); took > shrink_seconds) return "took " + std::to_string(took) + " s";
  const auto again = communicator.shrink();
  return again ? "shrunk twice" : expect_error(again.error(), Errc::invalid_argument, {"shrunk before"});
}

/// The ranks of `dead` die in the middle of calls; what those that live say of what is left.
std::string without(const Hosts& hosts, const Placement& on, const std::vector<bool>& dead, const CommunicatorOptions& options = quick()) {
  const auto body = [&](Communicator& communicator) -> std::string {
    if (dead[communicator.rank()]) std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      raise(SIGKILL);
    }).detach();
    if (auto wrong = expect_error(call_until_it_fails(communicator), Errc::peer_failed, {"rank "}); !wrong.empty()) return wrong;
    return goes_on_without(communicator, dead);
  };
  auto answers = run_children(ranks_on(hosts, on, body, options), 60);
  for (std::uint32_t rank = 0; rank < dead.size(); ++rank) {
    if (!dead[rank]) continue;
    if (answers[rank] != "ended by signal 9") return "rank " + std::to_string(rank) + " should have died and said: " + answers[rank];
    answers[rank] = "";
  }
  return complaints(answers);
}

}  // namespace

TEST_CASE("ranks on several hosts go on without those that died, near or far, one or a whole host, within two seconds at eight ranks") {
  if (!can_make_hosts()) return;
  const Hosts hosts(4);
  REQUIRE(hosts.trouble() == "");
  const std::vector<std::pair<Placement, std::vector<std::uint32_t>>> trials{
      {{0, 1}, {1}},       {{0, 1}, {0}},          {{0, 1, 2}, {0}},    {{0, 0, 1, 1}, {3}},    {{0, 0, 1, 1}, {0}},
      {{0, 0, 1, 1}, {2, 3}}, {{0, 1, 0, 1, 2}, {0, 2}}, {{0, 0, 0, 0, 1, 1, 1, 1}, {5}}, {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 1}},
  };
  for (const auto& [on, victims] : trials) {
    std::vector<bool> dead(on.size());
    for (const std::uint32_t victim : victims) dead[victim] = true;
    INFO("hosts " << name_of(on) << " without " << name_of(victims));
    CHECK(without(hosts, on, dead) == "");
  }
}

TEST_CASE("ranks on several hosts go on over each transport") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  for (const std::string transport : {"tcp", "ucx", "shm+ucx"}) {
    CommunicatorOptions options = quick();
    options.transport = transport;
    INFO(transport);
    const std::string said = without(hosts, {0, 0, 1}, {false, true, false}, options);
    CHECK((said.empty() || (transport != "tcp" && said.find("built without UCX") != std::string::npos)));
  }
}

TEST_CASE("ranks go on without a host that can't be reached any more, and so do that one's") {
  if (!can_make_hosts()) return;
  const Placement on{0, 0, 1, 1, 2};
  for (const auto& [victim, own_side] : {std::pair(0u, false), {1u, false}, {1u, true}}) {
    INFO("host " << victim << (own_side ? " has no network any more" : " is cut off"));
    const Hosts hosts(3);
    REQUIRE(hosts.trouble() == "");
    std::vector<bool> dead;
    for (const std::uint32_t host : on) dead.push_back(host == victim);
    const Arrivals calling;
    const auto body = [dead, &calling](Communicator& communicator) -> std::string {
      if (auto wrong = sums_to(communicator, 1, static_cast<float>(dead.size())); !wrong.empty()) return wrong;
      calling.count();
      if (auto wrong = expect_error(call_until_it_fails(communicator), Errc::peer_failed, {"rank "}); !wrong.empty()) return wrong;
      auto survivors = communicator.shrink();
      if (!survivors) return to_string(survivors.error());
      const std::uint32_t left = dead[communicator.rank()] ? 2 : 3;
      if (survivors->size() != left) return "a communicator of " + std::to_string(survivors->size());
      return sums_to(*survivors, 1, static_cast<float>(left));
    };
    std::vector<Child> ranks;
    for (const ChildBody& rank : ranks_on(hosts, on, body)) ranks.push_back(start_child(rank));
    calling.await(static_cast<std::uint32_t>(on.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto begin = Clock::now();
    CHECK((own_side ? hosts.run(victim, "ip link set eth down") : hosts.cut(victim)));
    std::vector<std::string> answers;
    for (const Child& rank : ranks) answers.push_back(answer_of(rank, begin + std::chrono::seconds(30)));
    CHECK(complaints(answers) == "");
  }
}

TEST_CASE("ranks killed while others on other hosts shrink are left out, or named by the new communicator's calls, and those that live end together") {
  if (!can_make_hosts()) return;
  const Hosts hosts(3);
  REQUIRE(hosts.trouble() == "");
  std::mt19937 random(78);
  const int rounds = sanitized ? 4 : 20;
  for (int round = 0; round < rounds; ++round) {
    const auto ranks = static_cast<std::uint32_t>(4 + random() % 3);
    Placement on;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) on.push_back(rank == 0 ? 0 : static_cast<std::uint32_t>(random() % 3));
    const auto delay = std::chrono::microseconds(random() % 400'000);
    const auto other = static_cast<std::uint32_t>(random() % (ranks - 1));
    const auto body = [&](Communicator& communicator) { return shrinks_while_another_dies(communicator, ranks - 1, other, delay); };
    auto answers = run_children(ranks_on(hosts, on, body), 60);
    INFO("round " << round << ": hosts " << name_of(on) << ", rank " << other << " killed after " << delay.count() << " us");
    REQUIRE(answers[ranks - 1] == "ended by signal 9");
    REQUIRE(answers[other] == "ended by signal 9");
    answers[ranks - 1] = answers[other] = "";
    REQUIRE(complaints(answers) == "");
  }
}

TEST_CASE("ranks of several hosts that leave aren't waited for, and split communicators shrink by themselves") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  for (const Placement& on : {Placement{0, 1, 1}, {0, 0, 1, 1}}) {
    INFO("hosts " << name_of(on));
    const auto body = [&](Communicator& communicator) -> std::string {
      auto copy = communicator.duplicate();
      if (!copy) return to_string(copy.error());
      const auto others = static_cast<float>(on.size() - 1);
      if (communicator.rank() == 1) {
        const Communicator gone = std::move(*copy);
      } else {
        auto survivors = copy->shrink();
        if (!survivors) return to_string(survivors.error());
        if (auto wrong = sums_to(*survivors, 1, others); !wrong.empty()) return wrong;
      }
      return sums_to(communicator, 1, others + 1);
    };
    CHECK(complaints(run_children(ranks_on(hosts, on, body), 60)) == "");
  }
}

TEST_CASE("newcomers of another host take the place of a host that died, by an id") {
  if (!can_make_hosts()) return;
  const Hosts hosts(3);
  REQUIRE(hosts.trouble() == "");
  int way[2];
  REQUIRE(pipe(way) == 0);
  const auto old_rank = [&](Communicator& communicator) -> std::string {
    if (communicator.rank() >= 2) raise(SIGKILL);
    (void)call_until_it_fails(communicator);
    auto survivors = communicator.shrink();
    if (!survivors) return to_string(survivors.error());
    std::array<char, 128> id{};
    if (survivors->rank() == 0) {
      const auto made = Communicator::unique_id();
      if (!made) return to_string(made.error());
      std::copy(made->begin(), made->end(), id.begin());
      for (int newcomer = 0; newcomer < 2; ++newcomer)
        if (write(way[1], id.data(), id.size()) != ssize_t{id.size()}) return "no way to the newcomers";
    }
    if (auto told = survivors->broadcast(id.data(), id.data(), id.size(), DataType::u8, 0); !told) return to_string(told.error());
    if (auto wrong = expect_error(survivors->grow(1, id.data()).error(), Errc::invalid_argument, {"accepted: more than the 2"}); !wrong.empty()) return wrong;
    auto grown = survivors->grow(4, id.data());
    return grown ? sums_to(*grown, 1, 4) : to_string(grown.error());
  };
  const auto newcomer = [&](std::uint32_t rank) {
    return [&, rank]() -> std::string {
      std::array<char, 128> id{};
      if (read(way[0], id.data(), id.size()) != ssize_t{id.size()}) return "no id came";
      auto grown = Communicator::by_id(rank, 4, id.data(), quick());
      return grown ? sums_to(*grown, 1, 4) : to_string(grown.error());
    };
  };
  std::vector<ChildBody> all = ranks_on(hosts, {0, 0, 1, 1}, old_rank);
  all.push_back(hosts.on(2, newcomer(2)));
  all.push_back(hosts.on(2, newcomer(3)));
  auto answers = run_children(all, 60);
  CHECK(answers[2] == "ended by signal 9");
  CHECK(answers[3] == "ended by signal 9");
  answers[2] = answers[3] = "";
  CHECK(complaints(answers) == "");
}

TEST_CASE("a communicator of several hosts doesn't grow by a name that only one of them knows") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  const auto body = [](Communicator& communicator) -> std::string {
    const auto grown = communicator.grow(3, "more");
    if (grown) return "it grew";
    return expect_error(grown.error(), Errc::invalid_argument, {"'more' is no unique id; accepted"});
  };
  CHECK(complaints(run_children(ranks_on(hosts, {0, 1}, body), 60)) == "");
}
