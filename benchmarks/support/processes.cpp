#include "support/processes.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <vector>

namespace bench_support {

Ended run_as_processes(std::uint32_t ranks, const std::function<int(std::uint32_t)>& rank) {
  std::fflush(nullptr);  // or each child prints it again
  std::vector<pid_t> children;
  for (std::uint32_t number = 0; number < ranks; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int status = rank(number);
      std::fflush(nullptr);
      _exit(status);
    }
    if (child > 0) children.push_back(child);
  }
  const bool complete = children.size() == ranks;
  if (!complete)
    for (const pid_t child : children) kill(child, SIGKILL);
  bool well = true;
  for (const pid_t child : children) {
    int status = 0;
    well &= waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!complete) return Ended::not_started;
  return well ? Ended::well : Ended::failed;
}

}  // namespace bench_support
