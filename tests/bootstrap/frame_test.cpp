// Descriptors that travel between processes, where the kernel has none to spare.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/clock.hpp"
#include "bootstrap/frame.hpp"
#include "strangers.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"

namespace {

using namespace rondo;

struct Pair {
  Fd near, far;
  Pair() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
      near.reset(ends[0]);
      far.reset(ends[1]);
    }
  }
};

/// From here on this process has room for `more` descriptors; gives the number of the next one.
int leave_room_for(int more) {
  const Fd next(dup(0));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(next.get() + more);
  setrlimit(RLIMIT_NOFILE, &limit);
  return next.get();
}

Address with_descriptors(std::size_t count, int fd) {
  Address address;
  address.bytes.assign(100, std::byte{7});
  address.descriptors.assign(count, fd);
  return address;
}

std::int64_t soon() { return now_ns() + 5'000'000'000; }

}  // namespace

TEST_CASE("descriptors that find no room are an error that says so, and none is left open") {
  const auto body = []() -> std::string {
    const Pair pair;
    const auto sent = send_frame(pair.near.get(), with_descriptors(3, 0), soon());
    if (!sent) return to_string(sent.error());
    const int next = leave_room_for(2);
    const auto got = receive_frame(pair.far.get(), soon());
    if (got) return "three came where two have room";
    const auto copy = duplicate(with_descriptors(3, 0));
    if (copy) return "three were copied where two have room";
    const Fd free(dup(0));
    if (free.get() != next) return "some were left open";
    const auto begin = Clock::now();
    return expect_words(to_string(got.error()), {"out_of_resources", "take 3 from a peer", "ulimit -n"}, begin, 1) +
           expect_words(to_string(copy.error()), {"out_of_resources", "ulimit -n"}, begin, 1);
  };
  CHECK(complaints(run_children({body})) == "");
}

TEST_CASE("a frame waits while its user has too many descriptors under way") {
  const auto body = []() -> std::string {
    constexpr int frames = 12;
    if (getuid() == 0 && setuid(65534) != 0) return "it can't give up being root, who has no such limit";
    const Pair pair;
    leave_room_for(40);
    std::string taken;
    const auto begin = Clock::now();
    std::thread taker([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      for (int i = 0; i < frames; ++i) {
        const auto frame = receive_frame(pair.far.get(), soon());
        if (!frame) taken = to_string(frame.error());
        if (frame)
          for (const int fd : frame->descriptors) close(fd);
      }
    });
    std::string sent;
    for (int i = 0; i < frames && sent.empty(); ++i)
      if (auto one = send_frame(pair.near.get(), with_descriptors(most_descriptors, 0), soon()); !one) sent = to_string(one.error());
    const double took = seconds_since(begin);
    shutdown(pair.near.get(), SHUT_WR);
    taker.join();
    if (!sent.empty() || !taken.empty()) return sent + taken;
    return took > 0.2 ? "" : "nothing had to wait: the test sends too few";
  };
  CHECK(complaints(run_children({body})) == "");
}
