// Who isn't a rank of the job is dropped, and the job goes on.
#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "strangers.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

constexpr uid_t nobody = 65534;

bool become_nobody() { return setgroups(0, nullptr) == 0 && setgid(nobody) == 0 && setuid(nobody) == 0; }

bool may_change_user() {
  const bool may = run_children({[]() -> std::string { return become_nobody() ? "yes" : "no"; }}).front() == "yes";
  if (!may) std::puts("rondo-skip: another user needs root");  // see tests/allowed-skips.txt
  return may;
}

/// Rank 0 of 2 waits while `strange` happens to it; then rank 1 comes, and both meet. What was wrong, else "".
std::string job_goes_on(const std::string& job, const ChildBody& strange) {
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  const Child first = start_child([&] { return meet(0, 2, job); });
  const std::string during = answer_of(start_child(strange), deadline);
  const Child second = start_child([&] { return meet(1, 2, job); });
  return complaints({answer_of(first, deadline), answer_of(second, deadline), during});
}

std::size_t descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::vector<Fd> knock_often(const std::string& job, std::size_t count) {
  std::vector<Fd> sockets;
  while (sockets.size() < count) sockets.push_back(knock(socket_name(job)));
  return sockets;
}

}  // namespace

TEST_CASE("a process of another user is dropped whatever it says, and the job goes on") {
  if (!may_change_user()) return;
  const std::string job = fresh_job();
  const SocketName name = socket_name(job);
  CHECK(job_goes_on(job, [&]() -> std::string {
          if (!become_nobody()) return "it can't become another user";
          const Fd socket = knock(name);
          const Hello hello = right_hello(1, 2);
          say(socket, &hello, sizeof hello);
          return dropped_within(socket, 2);
        }) == "");
}

TEST_CASE("a rank says nothing to another user who listens under its job's name") {
  if (!may_change_user()) return;
  const std::string job = fresh_job();
  const SocketName name = socket_name(job);
  const auto impostor = [&]() -> std::string {
    if (!become_nobody()) return "it can't become another user";
    const Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0 || listen(listener.get(), 1) != 0) return "it can't listen";
    return dropped_within(Fd(accept(listener.get(), nullptr, nullptr)), 5);
  };
  const auto rank = [&]() -> std::string { return expect_words(meet(1, 2, job), {"invalid_argument", "another user", job}, Clock::now(), 5); };
  CHECK(complaints(run_children({impostor, rank}, 20)) == "");
}

TEST_CASE("random bytes are dropped within 2 seconds, and the job goes on") {
  const std::string job = fresh_job();
  CHECK(job_goes_on(job, [&]() -> std::string {
          std::vector<unsigned char> bytes(1 << 16);
          std::uint32_t state = 1;
          for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((state = state * 1664525 + 1013904223) >> 24);
          std::string wrong;
          for (const std::size_t length : {std::size_t{1}, std::size_t{8}, sizeof(Hello), bytes.size()}) {
            const Fd socket = knock(socket_name(job));
            say(socket, bytes.data(), length);
            // What has begun wrong is dropped at once and not when its time is over.
            if (const std::string answer = dropped_within(socket, 0.5); !answer.empty()) wrong += std::to_string(length) + " bytes: " + answer + "; ";
          }
          return wrong;
        }) == "");
}

TEST_CASE("a hello that ends too early is dropped within 2 seconds, and the job goes on") {
  const std::string job = fresh_job();
  CHECK(job_goes_on(job, [&]() -> std::string {
          const Hello hello = right_hello(1, 2);
          const Fd silent = knock(socket_name(job));
          say(silent, &hello, sizeof hello - 1);
          const Fd ended = knock(socket_name(job));
          say(ended, &hello, 20);
          shutdown(ended.get(), SHUT_WR);
          const std::string wrong = dropped_within(ended, 0.5);
          return wrong + dropped_within(silent, 2);
        }) == "");
}

TEST_CASE("idle connections are dropped within 2 seconds, all of them, and the job goes on") {
  const std::string job = fresh_job();
  CHECK(job_goes_on(job, [&]() -> std::string {
          const auto begin = Clock::now();
          for (const Fd& socket : knock_often(job, 60))
            if (const std::string wrong = dropped_within(socket, 2 - seconds_since(begin)); !wrong.empty()) return wrong;
          return "";
        }) == "");
}

TEST_CASE("idle connections hold no rank up, and no more than 64 cost rank 0 a descriptor") {
  const std::string job = fresh_job();
  for (const std::size_t count : {20, 100}) {
    INFO(count << " idle connections");
    const double bound = count < 64 ? 1 : 4;  // beyond 64 a rank waits in the queue until the first are dropped
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    const Child first = start_child([&] { return meet(0, 2, job); });
    {
      const std::size_t before = descriptors_of(first.process);
      const std::vector<Fd> idle = knock_often(job, count);
      const std::size_t pending = std::min<std::size_t>(count, 64);
      const auto knocked = Clock::now();
      std::size_t after = 0;
      do {  // it may be late to take them in, and drops them after 1.8 s
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        after = descriptors_of(first.process);
      } while (after + 4 < before + pending && seconds_since(knocked) < 1.5);
      CHECK(after <= before + 65);  // the listener, which may not have been there before
      CHECK(after + 4 >= before + pending);  // the child may have closed a few of its parent's
      const auto begin = Clock::now();
      const Child second = start_child([&] { return meet(1, 2, job); });
      CHECK(complaints({answer_of(first, deadline), answer_of(second, deadline)}) == "");
      CHECK(seconds_since(begin) < bound);
    }
  }
}
