#include "support/hang.hpp"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// In signal handlers. What they call is async-signal-safe but for opendir() and snprintf(): in a process that hangs they are worth the risk.
namespace {

const char* watched = nullptr;
timer_t timer;

int tell_stack_signal() { return SIGRTMIN + 3; }
int late_signal() { return SIGRTMIN + 4; }

void say(const char* text) { [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text)); }

void tell_stack(int) {
  char line[96];
  std::snprintf(line, sizeof line, "test-hang: process %d, thread %ld\n", getpid(), syscall(SYS_gettid));
  say(line);
  void* frames[48];
  backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
}

/// Calls `use` with each number that names an entry of a folder of /proc.
template <class Use>
void each_number(const char* folder, Use use) {
  DIR* entries = opendir(folder);
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries))
    if (const int number = std::atoi(entry->d_name); number > 0) use(number);
  closedir(entries);
}

bool has_parent(int process, int parent) {
  char path[64], text[512] = {};
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  [[maybe_unused]] const auto got = read(fd, text, sizeof text - 1);
  close(fd);
  const char* after_name = std::strrchr(text, ')');
  return after_name != nullptr && std::strlen(after_name) > 4 && std::atoi(after_name + 4) == parent;
}

/// Each thread writes its own, one after another: signals come within milliseconds unless it can't run, and then its silence says so.
void tell_threads(int process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", process);
  each_number(path, [&](int thread) {
    if (process == getpid() && thread == syscall(SYS_gettid)) return;
    syscall(SYS_tgkill, process, thread, tell_stack_signal());
    usleep(50'000);
  });
}

void tell_all(int) {
  char line[256];
  std::snprintf(line, sizeof line, "test-hang: FAILED: '%s' takes too long; where its threads and children are:\n", watched);
  say(line);
  tell_stack(0);
  const int self = getpid();
  tell_threads(self);
  each_number("/proc", [&](int process) {
    if (has_parent(process, self)) tell_threads(process);
  });
  std::abort();
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

bool prepare() {
  void* frames[1];
  backtrace(frames, 1);  // loads what it needs, which a handler can't
  handle(tell_stack_signal(), tell_stack);
  handle(late_signal(), tell_all);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = late_signal();
  return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

void set_timer(unsigned seconds) {
  static const bool works = prepare();
  itimerspec when = {};
  when.it_value.tv_sec = seconds;
  if (works) timer_settime(timer, 0, &when, nullptr);
}

}  // namespace

void begin_watch(const char* name, unsigned seconds) {
  watched = name;
  set_timer(seconds);
}

void end_watch() { set_timer(0); }
