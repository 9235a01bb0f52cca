#include "transports/tcp/tcp.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "conformance.hpp"
#include "support/catch.hpp"
#include "transports/tcp/place.hpp"

using namespace rondo;

namespace {

constexpr std::uint32_t busy_channels = 2;

struct Lane {
  std::uint64_t posted = 0;    ///< the sender's
  std::uint64_t received = 0;  ///< the receiver's
};

/// Connected by their addresses. Each may be a thread's of its own.
class Ranks {
 public:
  /// `apart`: each with a listener of its own, that goes with it.
  explicit Ranks(std::uint32_t count, bool apart = false) {
    std::vector<Address> addresses;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      auto made = make_tcp_transport(TcpOptions{rank, count, {}, "127.0.0." + std::to_string(apart ? rank + 2 : 1)});
      REQUIRE(made.has_value());
      all_.push_back(std::move(*made));
      addresses.push_back(*all_.back()->address());
    }
    for (auto& transport : all_) REQUIRE(transport->connect(addresses, 0).has_value());
    lanes_.resize(count * count * busy_channels);
  }

  Transport& operator[](std::uint32_t rank) { return *all_[rank]; }
  void leave(std::uint32_t rank) { all_[rank].reset(); }
  Lane& lane(std::uint32_t from, std::uint32_t to, std::uint32_t channel) { return lanes_[(from * all_.size() + to) * busy_channels + channel]; }

  void post(std::uint32_t from, std::uint32_t to, std::uint32_t channel, std::uint64_t bytes) {
    Lane& on = lane(from, to, channel);
    const Message message = all_[from]->send_slot(to, channel, bytes);
    if (message.payload == nullptr) return;
    message.header[0] = on.posted++;
    message.header[1] = from * 100 + to * 10 + channel;
    if (bytes != 0) std::memset(message.payload, static_cast<int>(on.posted), bytes);
    all_[from]->post(to, channel);
  }

  /// What is wrong with the message that has come, if one has.
  std::string receive(std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
    const Message message = all_[to]->receive_slot(from, channel);
    if (message.payload == nullptr) return "";
    Lane& on = lane(from, to, channel);
    const bool right = message.header[0] == on.received++ && message.header[1] == from * 100 + to * 10 + channel &&
                       (message.bytes == 0 || static_cast<unsigned char>(message.payload[message.bytes - 1]) == on.received % 256);
    all_[to]->release(from, channel);
    return right ? "" : "message " + std::to_string(on.received) + " from rank " + std::to_string(from) + " is another";
  }

 private:
  std::vector<std::unique_ptr<Transport>> all_;
  std::vector<Lane> lanes_;
};

/// One of two ranks, in a thread of its own.
struct Side {
  Ranks& ranks;
  std::uint32_t rank;
  std::mt19937_64 random;
  std::uint64_t messages;  ///< that each posts on each channel
  bool hears = true;       ///< else it leaves when it has posted, whatever comes
  bool is_heard = true;
  std::string wrong = {};

  std::uint32_t peer() const { return 1 - rank; }

  bool has_received(std::uint32_t channel) { return ranks.lane(peer(), rank, channel).received == messages; }
  bool has_posted(std::uint32_t channel) { return ranks.lane(rank, peer(), channel).posted == messages && ranks[rank].idle(peer(), channel); }

  bool has_all() {
    bool all = true;
    for (std::uint32_t channel = 0; channel < busy_channels; ++channel)
      all = all && (!hears || has_received(channel)) && (!is_heard || has_posted(channel));
    return all;
  }

  /// Posts and receives all; then leaves, though the other may not have taken what was posted, or even the call.
  void run(std::uint64_t most_bytes) {
    const std::int64_t deadline_ns = now_ns() + 10'000'000'000;
    while (wrong.empty() && !has_all()) {
      if (now_ns() > deadline_ns) wrong = "took too long";
      const auto channel = static_cast<std::uint32_t>(random() % busy_channels);
      if (ranks.lane(rank, peer(), channel).posted < messages && random() % 2 == 0) ranks.post(rank, peer(), channel, random() % most_bytes);
      if (random() % 8 == 0) ranks[rank].progress();  // a receiver may read a connection while the peer's own call waits to be let in
      if (wrong.empty()) wrong = ranks.receive(peer(), rank, channel);
    }
    ranks.leave(rank);
  }
};

/// Two ranks that begin at the same moment: their calls cross often. `deaf`: one hears nothing and leaves first, with what lets callers in.
std::string call_one_another(std::uint64_t seed, bool deaf) {
  std::mt19937_64 random(seed);
  Ranks ranks(2, deaf);
  const std::uint64_t messages = 1 + random() % 12, most_bytes = random() % 4 == 0 ? 300'000 : 200;
  Side first{ranks, 0, std::mt19937_64(random()), messages}, second{ranks, 1, std::mt19937_64(random()), messages};
  if (deaf) {
    Side& leaver = seed % 2 == 0 ? first : second;
    leaver.hears = false;
    (seed % 2 == 0 ? second : first).is_heard = false;
  }
  std::atomic<int> there{0};
  const auto body = [&](Side& side) {
    there.fetch_add(1);
    while (there.load() != 2) {
    }
    side.run(most_bytes);
  };
  std::thread other([&] { body(second); });
  body(first);
  other.join();
  return first.wrong + second.wrong;
}

}  // namespace

TEST_CASE("TCP does what a transport must") {
  conformance([](std::uint32_t rank, std::uint32_t ranks) { return make_tcp_transport(TcpOptions{rank, ranks}); }, 10);
}

TEST_CASE("two ranks whose first messages cross lose none, nor their order, whoever leaves first") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    REQUIRE(call_one_another(seed, false) == "");
  }
}

TEST_CASE("what a rank has said before it leaves arrives, though it leaves without taking the call of the rank that it spoke to") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    REQUIRE(call_one_another(seed, true) == "");
  }
}

TEST_CASE("a process's TCP transports are called at one port, where strangers are dropped whatever they say") {
  Ranks ranks(2);
  const auto place = [&](std::uint32_t rank) { return *tcp::place_of(rank, *ranks[rank].address()); };
  CHECK(place(0).at.sin6_port == place(1).at.sin6_port);
  const auto say = [&](const void* data, std::size_t bytes) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(socket.get(), place(0).address(), place(0).length()) == 0);
    REQUIRE(send(socket.get(), data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
    return socket;
  };
  // of no seat; without a proof; another rank's; itself; a rank that there isn't
  tcp::Call unknown = tcp::call_of(1, place(0)), unproved = unknown, stolen = tcp::call_of(0, place(0));
  unknown.seat ^= 1;
  unproved.proof = {};
  stolen.rank = 1;
  const tcp::Call itself = tcp::call_of(0, place(0)), beyond = tcp::call_of(2, place(0));
  std::vector<Fd> strangers;
  for (int i = 0; i < 300; ++i) strangers.push_back(say("", 0));
  for (const tcp::Call& call : {unknown, unproved, stolen, itself, beyond}) strangers.push_back(say(&call, sizeof call));
  strangers.push_back(say("GET / HTTP/1.0\r\nHost: somewhere\r\n\r\n", 36));
  ranks.post(1, 0, 0, 100);
  const std::int64_t begin_ns = now_ns();
  while (ranks.lane(1, 0, 0).received == 0 && now_ns() < begin_ns + 5'000'000'000) {
    ranks[0].progress();
    ranks[1].progress();
    REQUIRE(ranks.receive(1, 0, 0) == "");
  }
  CHECK(ranks.lane(1, 0, 0).received == 1);
  while (now_ns() < begin_ns + 2'500'000'000) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // no rank waits
  std::size_t kept = 0;
  for (const Fd& stranger : strangers) {
    std::array<char, 200> said{};
    while (recv(stranger.get(), said.data(), said.size(), MSG_DONTWAIT) > 0) {
    }
    kept += recv(stranger.get(), said.data(), said.size(), MSG_DONTWAIT) != 0 && errno == EAGAIN;
  }
  CHECK(kept == 0);
}

TEST_CASE("a rank that leaves without a word refuses those that call it, be it before or after, and whether or not its process still listens") {
  enum class How { listens, has_gone, is_called_before, is_still_there };
  for (const How how : {How::listens, How::has_gone, How::is_called_before, How::is_still_there}) {
    INFO("way " << static_cast<int>(how));
    Ranks others(2);  // of this process, whose listener at 127.0.0.1 is theirs, too
    auto caller = make_tcp_transport(TcpOptions{0, 2, {}, "127.0.0.3"});
    auto leaver = make_tcp_transport(TcpOptions{1, 2, {}, how == How::has_gone ? "127.0.0.2" : "127.0.0.1"});
    REQUIRE((caller && leaver));
    REQUIRE((*caller)->connect({*(*caller)->address(), *(*leaver)->address()}, 0).has_value());
    CHECK_FALSE((*caller)->connected(1));
    if (how == How::is_called_before) {
      (*caller)->call(1);
      for (const std::int64_t end_ns = now_ns() + 20'000'000; now_ns() < end_ns;) (*caller)->progress();
    }
    if (how == How::is_still_there) (*leaver)->leave();
    else leaver->reset();
    (*caller)->call(1);
    const std::int64_t begin_ns = now_ns();
    while (!(*caller)->gone(1) && now_ns() < begin_ns + 5'000'000'000) {
      (*caller)->progress();
      (void)(*caller)->receive_slot(1, 0);  // as whoever waits for a message
      others[0].progress();
    }
    REQUIRE((*caller)->gone(1));
    CHECK(now_ns() - begin_ns < 1'000'000'000);
    REQUIRE((*caller)->refusal(1).has_value());
    CHECK((*caller)->refusal(1)->code == Errc::peer_failed);
  }
}
