#include "support/traced.hpp"

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "support/shared.hpp"

namespace {

constexpr long no_such_call = 4'000'000;  // no kernel has it: it fails, and is seen
constexpr int syscall_stop = SIGTRAP | 0x80;

/// Of the usual ones: its name; of others its number.
std::string name_of(long number) {
  static const std::map<long, const char*> names{
      {SYS_fcntl, "fcntl"}, {SYS_socket, "socket"}, {SYS_connect, "connect"}, {SYS_sendto, "sendto"}, {SYS_sendmsg, "sendmsg"},
      {SYS_recvmsg, "recvmsg"}, {SYS_recvfrom, "recvfrom"}, {SYS_ppoll, "ppoll"}, {SYS_close, "close"}, {SYS_mmap, "mmap"}, {SYS_munmap, "munmap"},
      {SYS_memfd_create, "memfd_create"}, {SYS_ftruncate, "ftruncate"}, {SYS_fallocate, "fallocate"}, {SYS_pipe2, "pipe2"}, {SYS_fstat, "fstat"},
      {SYS_clone, "clone"}, {SYS_clone3, "clone3"}, {SYS_epoll_create1, "epoll_create1"}, {SYS_epoll_ctl, "epoll_ctl"},
      {SYS_epoll_pwait, "epoll_pwait"}, {SYS_futex, "futex"}, {SYS_sched_yield, "sched_yield"}, {SYS_process_vm_readv, "process_vm_readv"},
      {SYS_exit_group, "exit_group"}, {SYS_getsockopt, "getsockopt"}, {SYS_clock_nanosleep, "clock_nanosleep"}, {SYS_madvise, "madvise"}};
  const auto found = names.find(number);
  return found != names.end() ? found->second : "system call " + std::to_string(number);
}

/// Follows one process and its threads.
class CallTracer {
 public:
  CallTracer(pid_t process, Moment moment, const Death& death, Followed& followed) : process_(process), moment_(moment), death_(death), followed_(followed) {}

  /// 0, or why it can't be, an errno.
  int attach() {
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;
    if (ptrace(PTRACE_SEIZE, process_, nullptr, options) != 0 || ptrace(PTRACE_INTERRUPT, process_, nullptr, nullptr) != 0) return errno;
    int status = 0;
    if (waitpid(process_, &status, __WALL) != process_ || !WIFSTOPPED(status)) return ECHILD;
    return ptrace(PTRACE_SYSCALL, process_, nullptr, nullptr) == 0 ? 0 : errno;
  }

  /// Until the process has ended; how it did, as wait() says it.
  int follow() {
    for (;;) {
      int status = 0;
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0) return -1;
      if (!WIFSTOPPED(status)) {
        if (thread == process_) return status;
        continue;
      }
      // A thread's first stop and those of clone() are no signals.
      const bool is_signal = WSTOPSIG(status) != syscall_stop && status >> 16 == 0;
      if (WSTOPSIG(status) == syscall_stop) see(thread);
      ptrace(PTRACE_SYSCALL, thread, nullptr, is_signal ? WSTOPSIG(status) : 0);
    }
  }

 private:
  void see(pid_t thread) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) enter(static_cast<long>(info.entry.nr), info.entry.args[0]);
    // Of the calls of interest this one alone sends bytes without descriptors.
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && thread == process_) sends_ = info.entry.nr == SYS_sendto;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && thread == process_ && sends_ && info.exit.rval > 0 && followed_.heard_after == 0)
      followed_.heard_after = followed_.steps[mark_].load();
  }

  void enter(long call, std::uint64_t argument) {
    if (call == no_such_call) {
      mark_ = argument < most_marks ? static_cast<int>(argument) : 0;
      return;
    }
    if (mark_ == 0 || followed_.died) return;
    const std::uint64_t count = ++followed_.steps[mark_];
    if (mark_ != moment_.mark || count != moment_.number) return;
    followed_.died = true;
    name_of(call).copy(followed_.place, sizeof followed_.place - 1);
    death_.come_to(process_);
  }

  pid_t process_;
  Moment moment_;
  const Death& death_;
  Followed& followed_;
  int mark_ = 0;
  bool sends_ = false;
};

[[noreturn]] void live(const ChildBody& body, int go, Followed& followed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  (void)!read(go, &byte, 1);
  close(go);
  body().copy(followed.answer, sizeof followed.answer - 1);
  _exit(0);
}

}  // namespace

void pass_mark(int mark) { syscall(no_such_call, static_cast<long>(mark)); }

std::string hindrance_of_tracing() {
  const Death death;
  const Shared<Followed> followed;
  const auto tracer = [&] { return run_traced([] { return std::string(); }, Moment{}, death, *followed); };
  return run_children({tracer}, 20)[0];
}

std::string run_traced(const ChildBody& body, Moment moment, const Death& death, Followed& followed) {
  int go[2];
  if (pipe(go) != 0) return "no pipe";
  const pid_t process = fork();
  if (process == 0) {
    close(go[1]);
    live(body, go[0], followed);
  }
  close(go[0]);
  CallTracer tracer(process, moment, death, followed);
  if (const int refused = tracer.attach(); refused != 0) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, __WALL);
    return std::string("no process may be traced: ") + strerror(refused);
  }
  (void)!write(go[1], "g", 1);
  close(go[1]);
  const int status = tracer.follow();
  if (followed.died) return "";
  if (!WIFEXITED(status)) return "it ended by signal " + std::to_string(WTERMSIG(status));
  return followed.answer;
}
