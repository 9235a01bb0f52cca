#include "tools/subprocess.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/folder.hpp"
#include "support/folders.hpp"

namespace {

/// Several ranks write to it at once: only appended text is safe from the others'.
int open_memory(const char* name) {
  const int descriptor = memfd_create(name, MFD_CLOEXEC);
  fcntl(descriptor, F_SETFL, O_APPEND);
  return descriptor;
}

std::string read_all(int descriptor) {
  std::string text;
  char some[4096];
  lseek(descriptor, 0, SEEK_SET);
  for (ssize_t got; (got = read(descriptor, some, sizeof some)) > 0;) text.append(some, static_cast<std::size_t>(got));
  close(descriptor);
  return text;
}

/// From here on and in what this process becomes, clone fails: a limit on processes wouldn't bind root.
void refuse_forks() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{sizeof program / sizeof program[0], program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(126);
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::vector<std::string>& settings, int out,
                         int err) {
  setpgid(0, 0);  // so that its children can be killed with it
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

/// The wait status, or -1 when the time was over.
int wait_at_most(pid_t child, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

}  // namespace

Finished run(const std::vector<std::string>& words, const std::vector<std::string>& settings, int seconds, Forks forks) {
  const int out = open_memory("stdout");
  const int err = open_memory("stderr");
  const pid_t child = fork();
  if (child == 0 && forks == Forks::refused) refuse_forks();
  if (child == 0) become(words, settings, out, err);
  const int status = wait_at_most(child, seconds);
  Finished finished;
  finished.out = read_all(out);
  finished.err = read_all(err);
  if (status >= 0) finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

std::string refusal(const Finished& finished, const std::vector<std::string>& words) {
  const std::string said = " (code " + std::to_string(finished.code) + ", stderr: " + finished.err + ")";
  if (finished.code != 2) return "expected exit code 2" + said;
  if (std::count(finished.err.begin(), finished.err.end(), '\n') != 1 || finished.err.back() != '\n')
    return "expected one line" + said;
  for (const std::string& word : words)
    if (!contains(finished.err, word)) return "'" + word + "' is missing" + said;
  return "";
}

bool contains(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

std::string rondo_program() {
  return RONDO_BINARY_DIR "/bin/rondo";
}

std::string bench_program() {
  return RONDO_BINARY_DIR "/bin/rondo-bench";
}

std::string write_file(const std::string& name, const std::string& text) {
  static const rondo::test::Folder folder;
  const std::string path = (folder.path() / name).string();
  std::ofstream(path) << text;
  return path;
}
