// What is said with the store of torchrun's agents, which a thread here plays: well, and badly. That torch's own understands it is tested in
// python/tests/test_several_machines.py.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "base/fd.hpp"
#include "bootstrap/launcher.hpp"
#include "deadline.hpp"
#include "support/catch.hpp"

namespace {

using namespace rondo;

/// Takes one rank in, reads what it says up to `wanted` bytes, answers, and again.
class Store {
 public:
  struct Turn {
    std::size_t wanted = 0;
    std::string answer;  ///< empty: it hangs up
  };

  explicit Store(std::vector<Turn> turns) : turns_(std::move(turns)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof place;
    auto* const at = reinterpret_cast<sockaddr*>(&place);
    REQUIRE(bind(listener_.get(), at, length) == 0);
    REQUIRE(listen(listener_.get(), 4) == 0);
    REQUIRE(getsockname(listener_.get(), at, &length) == 0);
    job.master_port = ntohs(place.sin_port);
    job.master_address = "127.0.0.1";
    job.run_id = "run";
    job.size = 2;
    thread_ = std::thread([this] { serve(); });
  }
  ~Store() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  JobEnvironment job;
  std::string heard;

 private:
  void serve() {
    const Fd rank(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!rank) return;
    for (const Turn& turn : turns_) {
      for (std::size_t came = 0; came < turn.wanted; ++came) {
        char byte = 0;
        if (read(rank.get(), &byte, 1) != 1) return;
        heard += byte;
      }
      if (turn.answer.empty()) return;
      if (send(rank.get(), turn.answer.data(), turn.answer.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(turn.answer.size())) return;
    }
    pollfd entry{rank.get(), POLLRDHUP, 0};
    (void)poll(&entry, 1, 10'000);  // until the rank has gone
  }

  std::vector<Turn> turns_;
  Fd listener_;
  std::thread thread_;
};

std::string number(std::uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

/// What rank 1 gets, or why it doesn't.
std::string shared_by(Store& store, double seconds = 5) {
  store.job.rank = 1;
  const auto launcher = find_agent_store(store.job, deadline_in(5));
  if (!launcher) return to_string(launcher.error());
  const auto text = (*launcher)->share("", deadline_in(seconds));
  return text ? "got " + *text : to_string(text.error());
}

constexpr std::size_t validation = 5, key = 8 + sizeof "rondo/run/0/0" - 1;  // keys are counted over the whole program, below ten here

}  // namespace

TEST_CASE("a rank waits for rank 0's text in torchrun's store, and takes it") {
  Store store({{validation + 1 + 8 + key, std::string(1, 0)}, {1 + key, number(14) + "rondo1/is/here"}});
  CHECK(shared_by(store) == "got rondo1/is/here");
  CHECK(store.heard.substr(0, validation) == std::string("\0\xce\xf7\x85\x3c", 5));
  CHECK(store.heard.substr(validation, 9) == "\6" + number(1));
  CHECK(store.heard.substr(validation + 9, 8 + 12) == number(key - 8) + "rondo/run/0/");
}

TEST_CASE("what isn't torchrun's store, or hangs up, or has nothing from rank 0, is named with its place") {
  const auto fails = [](std::vector<Store::Turn> turns, const std::string& why, double seconds = 5) {
    Store store(std::move(turns));
    const std::string said = shared_by(store, seconds);
    INFO(said);
    CHECK(said.find(why) != std::string::npos);
    CHECK(said.find("127.0.0.1:" + std::to_string(store.job.master_port)) != std::string::npos);
  };
  fails({{validation, ""}}, "hung up");
  fails({{validation + 1 + 8 + key, std::string(1, 1)}}, "isn't torchrun's store");
  fails({{validation + 1 + 8 + key, std::string(1, 0)}, {1 + key, number(std::uint64_t{1} << 60)}}, "isn't torchrun's store");
  fails({{validation + 1 + 8 + key + 1, "never"}}, "no sign of rank 0", 0.2);
}

TEST_CASE("where torchrun's store should be and isn't, the variable that said so is named") {
  JobEnvironment job;
  job.master_address = "127.0.0.1";
  job.master_port = 1;
  const auto launcher = find_agent_store(job, deadline_in(5));
  REQUIRE_FALSE(launcher);
  CHECK(to_string(launcher.error()).find("TORCHELASTIC_USE_AGENT_STORE=True") != std::string::npos);
}
