// What is UCX's own of links over it.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "links.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

using namespace rondo;

TEST_CASE("UCX's own variables hold") {
  setenv("UCX_TLS", "nonsense", 1);
  const auto made = Communicator::in_process(2, over("ucx"));
  unsetenv("UCX_TLS");
  REQUIRE_FALSE(made.has_value());
  CHECK(to_string(made.error()).find("cannot start UCX: No such device") != std::string::npos);
}

TEST_CASE("UCX says nothing where ranks go, whatever is set of it") {
  int ends[2];
  REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
  const int error = dup(STDERR_FILENO), output = dup(STDOUT_FILENO);  // UCX writes to the latter
  const std::vector<const char*> names{"UCX_TLS", "UCX_RNDV_SCHEME", "UCX_WARN_UNUSED_ENV_VARS", "UCX_LOG_LEVEL"};
  const std::vector<const char*> values{"tcp,self", "put_ppln", "y", "info"};
  for (std::size_t i = 0; i < names.size(); ++i) setenv(names[i], values[i], 1);
  std::fflush(stdout);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  dup2(ends[1], STDERR_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  const auto body = [](Communicator& communicator) -> std::string {
    auto done = sum_of(communicator, 300'000);
    if (!done) return to_string(done.error());
    std::int32_t unread = 1;  // UCX complains of messages that nobody takes
    if (communicator.rank() == 2 && !communicator.send(&unread, 1, DataType::i32, 0)) return "the send failed";
    if (auto met = communicator.barrier(); !met) return to_string(met.error());
    if (communicator.rank() == 1) raise(SIGKILL);
    return sum_of(communicator, 300'000) ? "success" : "";
  };
  auto answers = run_processes(3, body, over("ucx"));
  dup2(error, STDERR_FILENO);
  dup2(output, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  close(error);
  close(output);
  for (const char* name : names) unsetenv(name);
  std::string said(1 << 16, '\0');
  const ssize_t length = read(ends[0], said.data(), said.size());
  said.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  close(ends[0]);
  close(ends[1]);
  CHECK(answers[1] == "ended by signal 9");
  answers.erase(answers.begin() + 1);
  CHECK(complaints(answers) == "");
  CHECK(said.find("rondo error") != std::string::npos);  // the test looks at the right place
  CHECK(said.find("UCX") == std::string::npos);
}
