#include "parties.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

constexpr std::int64_t patience_ns = 60'000'000'000;
constexpr unsigned patience_s = 120;

struct Child {
  pid_t process = -1;
  int answer = -1;  ///< read end
};

Child start_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t process = fork();
  if (process != 0) {
    close(ends[1]);
    return {process, ends[0]};
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(patience_s);
  close(ends[0]);
  const std::string answer = body();
  const ssize_t sent = write(ends[1], answer.data(), answer.size());
  _exit(sent == static_cast<ssize_t>(answer.size()) ? 0 : 1);
}

std::string answer_of(const Child& child) {
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = read(child.answer, buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  close(child.answer);
  int status = 0;
  waitpid(child.process, &status, 0);
  return WIFSIGNALED(status) ? answer + "killed by " + std::to_string(WTERMSIG(status)) : answer;
}

std::string run_party(std::uint32_t rank, std::uint32_t ranks, const MakeTransport& make, const PartyBody& body,
                      Bootstrap& bootstrap) {
  Party party{rank, ranks, make, &bootstrap, nullptr};
  return body(party);
}

}  // namespace

std::string Party::meet() {
  auto all = bootstrap->all_gather({}, now_ns() + patience_ns);
  return all ? "" : to_string(all.error());
}

Result<void> Party::connect(const std::function<void(std::vector<Address>&)>& damage) {
  auto made = make(rank, ranks);
  if (!made) return made.error();
  transport = std::move(*made);
  const std::int64_t deadline_ns = now_ns() + patience_ns;
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
  std::vector<Child> children;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    children.push_back(start_child([&]() -> std::string {
      auto bootstrap = make_local_bootstrap(rank, ranks, job, now_ns() + patience_ns);
      return bootstrap ? run_party(rank, ranks, make, body, **bootstrap) : to_string(bootstrap.error());
    }));
  std::vector<std::string> answers;
  for (const Child& child : children) answers.push_back(answer_of(child));
  return answers;
}

std::vector<std::string> parties_as_threads(std::uint32_t ranks, const MakeTransport& make, const PartyBody& body) {
  return {answer_of(start_child([&]() -> std::string {
    auto ends = make_in_process_bootstrap(ranks);
    std::vector<std::string> answers(ranks);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { answers[rank] = run_party(rank, ranks, make, body, *ends[rank]); });
    for (std::thread& thread : threads) thread.join();
    return complaints(answers);
  }))};
}
