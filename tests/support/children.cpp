#include "support/children.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace {

using Clock = std::chrono::steady_clock;

constexpr char end_of_answer = '\n';  // says that the child came to its end

std::string read_answer(int fd, Clock::time_point deadline) {
  std::string answer;
  for (;;) {
    // One that is over is asked once more: the child may have answered while another was waited for.
    const auto left = std::max(deadline - Clock::now(), Clock::duration::zero());
    pollfd entry{fd, POLLIN, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (poll(&entry, 1, static_cast<int>(milliseconds)) == 0) return std::string("did not end in time") + end_of_answer;
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return answer;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Child start_child(const ChildBody& body) {
  if (std::getenv("TEST_THREADS_ALONE") != nullptr) return {};  // communicator_threads: no section of this name may fork
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t process = fork();
  if (process != 0) {
    close(ends[1]);
    return {process, ends[0]};
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(ends[0]);
  const std::string answer = body() + end_of_answer;
  for (std::size_t sent = 0; sent < answer.size();) {
    const ssize_t part = write(ends[1], answer.data() + sent, answer.size() - sent);
    if (part <= 0) break;
    sent += static_cast<std::size_t>(part);
  }
  _exit(0);
}

std::string answer_of(const Child& child, Clock::time_point deadline) {
  if (child.process < 0) return "could not be started";  // and kill(-1) would end everything
  std::string answer = read_answer(child.answer, deadline);
  close(child.answer);
  kill(child.process, SIGKILL);
  int status = 0;
  waitpid(child.process, &status, 0);
  if (answer.empty() || answer.back() != end_of_answer)
    return answer + "ended by signal " + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  answer.pop_back();
  return answer;
}

std::vector<std::string> run_children(const std::vector<ChildBody>& bodies, int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  std::vector<Child> children;
  for (const ChildBody& body : bodies) children.push_back(start_child(body));
  std::vector<std::string> answers;
  for (const Child& child : children) answers.push_back(answer_of(child, deadline));
  return answers;
}

std::string complaints(const std::vector<std::string>& answers) {
  std::string all;
  for (std::size_t rank = 0; rank < answers.size(); ++rank)
    if (!answers[rank].empty()) all += "rank " + std::to_string(rank) + ": " + answers[rank] + "\n";
  return all;
}
