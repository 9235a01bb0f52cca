#include "parties.hpp"

#include <thread>

#include "base/clock.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

constexpr std::int64_t meeting_ns = 60'000'000'000;

std::string run_party(std::uint32_t rank, std::uint32_t ranks, const MakeTransport& make, const PartyBody& body,
                      Bootstrap& bootstrap) {
  Party party{rank, ranks, make, &bootstrap, nullptr};
  return body(party);
}

}  // namespace

std::string Party::meet() {
  auto all = bootstrap->all_gather({}, now_ns() + meeting_ns);
  return all ? "" : to_string(all.error());
}

Result<void> Party::connect(const std::function<void(std::vector<Address>&)>& damage) {
  auto made = make(rank, ranks);
  if (!made) return made.error();
  transport = std::move(*made);
  const std::int64_t deadline_ns = now_ns() + meeting_ns;
  auto address = transport->address();
  if (!address) return address.error();
  auto all = bootstrap->all_gather(*address, deadline_ns);
  if (!all) return all.error();
  std::vector<Address> given = all->all();
  if (damage) damage(given);
  auto connected = transport->connect(given, deadline_ns);
  auto met = bootstrap->all_gather({}, deadline_ns);
  if (!connected) return connected;
  if (!met) return met.error();
  return {};
}

std::vector<std::string> parties_as_processes(std::uint32_t ranks, const MakeTransport& make, const PartyBody& body) {
  const std::string job = fresh_job();
  std::vector<ChildBody> bodies;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    bodies.push_back([&, rank]() -> std::string {
      auto bootstrap = make_local_bootstrap(rank, ranks, job, now_ns() + meeting_ns);
      return bootstrap ? run_party(rank, ranks, make, body, **bootstrap) : to_string(bootstrap.error());
    });
  return run_children(bodies);
}

std::vector<std::string> parties_as_threads(std::uint32_t ranks, const MakeTransport& make, const PartyBody& body) {
  return run_children({[&]() -> std::string {
    auto ends = make_in_process_bootstrap(ranks);
    std::vector<std::string> answers(ranks);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { answers[rank] = run_party(rank, ranks, make, body, *ends[rank]); });
    for (std::thread& thread : threads) thread.join();
    return complaints(answers);
  }});
}
