#include "support/ranks.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

std::string fresh_job() {
  static std::atomic<int> number{0};
  return "test/" + std::to_string(getpid()) + "/" + std::to_string(++number);
}

std::string complaints(const std::vector<std::string>& answers) {
  std::string all;
  for (std::size_t rank = 0; rank < answers.size(); ++rank)
    if (!answers[rank].empty()) all += "rank " + std::to_string(rank) + ": " + answers[rank] + "\n";
  return all;
}

std::vector<std::string> run_threads(std::uint32_t ranks, const RankBody& body, const rondo::CommunicatorOptions& options) {
  auto made = rondo::Communicator::in_process(ranks, options);
  if (!made) return {rondo::to_string(made.error())};
  std::vector<std::string> answers(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { answers[rank] = body((*made)[rank]); });
  for (std::thread& thread : threads) thread.join();
  return answers;
}

namespace {

struct Child {
  pid_t process = -1;
  int answer = -1;  ///< read end
};

Child start(std::uint32_t rank, std::uint32_t ranks, const std::string& job, const RankBody& body, const rondo::CommunicatorOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t process = fork();
  if (process != 0) {
    close(ends[1]);
    return {process, ends[0]};
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(ends[0]);
  std::string answer;
  {
    auto communicator = rondo::Communicator::local(rank, ranks, job, options);
    answer = communicator ? body(*communicator) : rondo::to_string(communicator.error());
  }
  answer += '\n';  // says that the rank came to its end
  for (std::size_t sent = 0; sent < answer.size();) {
    const ssize_t part = write(ends[1], answer.data() + sent, answer.size() - sent);
    if (part <= 0) break;
    sent += static_cast<std::size_t>(part);
  }
  _exit(0);
}

std::string read_answer(int fd, std::chrono::steady_clock::time_point deadline) {
  std::string answer;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd entry{fd, POLLIN, 0};
    if (left <= 0 || poll(&entry, 1, static_cast<int>(left)) == 0) return "did not end in time\n";
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return answer;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::vector<std::string> run_processes(std::uint32_t ranks, const RankBody& body, const rondo::CommunicatorOptions& options, int seconds) {
  const std::string job = fresh_job();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::vector<Child> children;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) children.push_back(start(rank, ranks, job, body, options));
  std::vector<std::string> answers;
  for (const Child& child : children) {
    std::string answer = read_answer(child.answer, deadline);
    close(child.answer);
    kill(child.process, SIGKILL);
    int status = 0;
    waitpid(child.process, &status, 0);
    if (answer.empty()) answer = "ended by signal " + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) + "\n";
    answer.pop_back();
    answers.push_back(answer);
  }
  return answers;
}
