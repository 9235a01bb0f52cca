#include "doctor_trials.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>

#include "rondo/communicator.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::milliseconds(3000);       ///< of a rank, with creation and with each operation
constexpr auto last_patience = std::chrono::milliseconds(4500);  ///< of the doctor, with a trial
constexpr std::size_t small_count = 2, large_count = 1 << 20;    ///< f32: 8 bytes and 4 MiB

/// What a child says over its pipe: small enough to arrive whole or not at all.
struct TrialAnswer {
  bool lost = false;  ///< the child said nothing: it crashed or hung
  double small_ns = 0;
  double large_bytes_per_s = 0;
  bool kernel_copies = false;
  char failure[1024] = "";
};
static_assert(sizeof(TrialAnswer) <= PIPE_BUF);

void complain(TrialAnswer& answer, const std::string& why) {
  if (answer.failure[0] == '\0') answer.failure[why.copy(answer.failure, sizeof answer.failure - 1)] = '\0';
}

/// The best time of one all-reduce of `count` elements, checked; 0 after a complaint.
double time_all_reduce(Communicator& communicator, std::size_t count, int batches, int calls, TrialAnswer& answer) {
  std::vector<float> mine(count), sums(count);
  for (std::size_t i = 0; i < count; ++i) mine[i] = static_cast<float>((communicator.rank() + 1) * (i % 7 + 1));
  double best_ns = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::fill(sums.begin(), sums.end(), -1.0f);
    const auto begin = Clock::now();
    for (int call = 0; call < calls; ++call)
      if (const auto done = communicator.all_reduce(mine.data(), sums.data(), count, DataType::f32); !done) return complain(answer, to_string(done.error())), 0;
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls;
    if (batch == 0 || ns < best_ns) best_ns = ns;
    for (std::size_t i = 0; i < count; ++i)
      if (const auto expected = static_cast<float>(3 * (i % 7 + 1)); sums[i] != expected)
        return complain(answer, "wrong sum: element " + std::to_string(i) + " is " + std::to_string(sums[i]) + ", expected " + std::to_string(expected)), 0;
  }
  return best_ns;
}

void work(Communicator& communicator, TrialAnswer& answer) {
  answer.small_ns = time_all_reduce(communicator, small_count, 20, 20, answer);
  if (answer.failure[0] != '\0') return;
  const double large_ns = time_all_reduce(communicator, large_count, 3, 1, answer);
  if (large_ns > 0) answer.large_bytes_per_s = large_count * sizeof(float) / large_ns * 1e9;
}

CommunicatorOptions options_for(const std::string& transport) {
  CommunicatorOptions options;
  options.timeout = options.bootstrap_timeout = patience;
  options.transport = transport;
  return options;
}

TrialAnswer run_threads(const std::string& transport) {
  TrialAnswer answer, other;
  auto ranks = Communicator::in_process(2, options_for(transport));
  if (!ranks) return complain(answer, to_string(ranks.error())), answer;
  try {
    std::thread second([&] { work((*ranks)[1], other); });
    work((*ranks)[0], answer);
    second.join();
  } catch (const std::system_error& refused) {
    complain(answer, std::string("cannot start a thread: ") + refused.what() + " (limits: ulimit -u, the control group's pids.max)");
  }
  complain(answer, other.failure);
  return answer;
}

TrialAnswer run_process(const std::string& transport, std::uint32_t rank, const std::string& job) {
  TrialAnswer answer;
  auto communicator = Communicator::local(rank, 2, job, options_for(transport));
  if (!communicator) return complain(answer, to_string(communicator.error())), answer;
  work(*communicator, answer);
  // The plan that this makes possible is considered wherever ranks can read one another's buffers.
  const float input = 0;
  float output[2];
  const auto plan = communicator->plan_for(Call{Collective::all_gather, &input, output, 1});
  if (plan)
    for (const Candidate& candidate : plan->considered) answer.kernel_copies |= candidate.algorithm == "direct_one_shot" && candidate.predicted_ns > 0;
  return answer;
}

struct Child {
  pid_t process = -1;
  int answers = -1;  ///< read end
};

/// What the ranks log would come on top of the doctor's own words; rondo-bench shows it.
void be_silent() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

/// Why there is no child, or "".
std::string start(Child& child, const std::function<TrialAnswer()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("cannot make a pipe: ") + std::strerror(errno) + " (limit: ulimit -n)";
  child.process = fork();
  if (child.process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_silent();
    const TrialAnswer answer = body();
    (void)!write(ends[1], &answer, sizeof answer);  // nobody is left to tell when it fails
    _exit(0);
  }
  const int number = errno;
  close(ends[1]);
  if (child.process > 0) return child.answers = ends[0], "";
  close(ends[0]);
  return std::string("cannot start a process: ") + std::strerror(number) + " (limits: ulimit -u, the control group's pids.max)";
}

/// Whether something came, or the child closed its end, before the deadline.
bool heard(int descriptor, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{descriptor, POLLIN, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(0, left)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// The child's answer, or what became of it; it is gone afterwards.
TrialAnswer finish(const Child& child, Clock::time_point deadline) {
  TrialAnswer answer;
  const bool in_time = heard(child.answers, deadline);
  const bool told = in_time && read(child.answers, &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
  close(child.answers);
  if (!in_time) kill(child.process, SIGKILL);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {}
  if (told) return answer;
  answer = TrialAnswer{};
  answer.lost = true;
  if (!in_time) complain(answer, "no answer within " + std::to_string(last_patience.count()) + " ms");
  else if (WIFSIGNALED(status)) complain(answer, "a rank was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")");
  else complain(answer, "a rank ended without an answer");
  return answer;
}

/// Runs the bodies, one child each. The times are rank 0's; of several failures that of a lost rank counts, since the others come of it.
Trial run_trial(const char* ranks, const char* transport, const std::vector<std::function<TrialAnswer()>>& bodies) {
  Trial trial{ranks, transport, "", 0, 0, false};
  const auto deadline = Clock::now() + last_patience;
  std::vector<Child> children;
  for (auto body = bodies.begin(); trial.failure.empty() && body != bodies.end(); ++body) {
    Child child;
    trial.failure = start(child, *body);
    if (trial.failure.empty()) children.push_back(child);
  }
  const bool complete = trial.failure.empty();
  std::vector<TrialAnswer> answers;
  for (const Child& child : children) {
    if (!complete) kill(child.process, SIGKILL);  // it would wait in vain
    answers.push_back(finish(child, deadline));
    if (complete && (trial.failure.empty() || answers.back().lost)) trial.failure = answers.back().failure;
  }
  if (!trial.failure.empty()) return trial;
  trial.small_ns = answers[0].small_ns;
  trial.large_bytes_per_s = answers[0].large_bytes_per_s;
  trial.kernel_copies = answers[0].kernel_copies;
  return trial;
}

Trial run_processes(const char* transport) {
  const std::string job = "rondo-doctor/" + std::to_string(getpid()) + "/" + transport;
  std::vector<std::function<TrialAnswer()>> bodies;
  for (std::uint32_t rank = 0; rank < 2; ++rank) bodies.push_back([=] { return run_process(transport, rank, job); });
  return run_trial("processes", transport, bodies);
}

}  // namespace

std::vector<Trial> run_trials() {
  return {run_trial("threads", "shm", {[] { return run_threads("shm"); }}), run_processes("shm"), run_processes("ucx")};
}
