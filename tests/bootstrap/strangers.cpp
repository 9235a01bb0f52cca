#include "strangers.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "deadline.hpp"
#include "rondo/communicator.hpp"
#include "support/faults.hpp"

using namespace rondo;

Fd knock(const SocketName& name) {
  const auto begin = Clock::now();
  while (seconds_since(begin) < 5) {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0) return socket;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

Hello right_hello(std::uint32_t rank, std::uint32_t size) {
  Hello hello{};
  std::memcpy(hello.magic, hello_magic, sizeof hello.magic);
  hello.version = version();
  hello.rank = rank;
  hello.size = size;
  return hello;
}

void say(const Fd& socket, const void* data, std::size_t bytes) {
  if (send(socket.get(), data, bytes, MSG_NOSIGNAL) < 0) return;  // it was dropped already, which dropped_within() finds
}

std::string dropped_within(const Fd& socket, double seconds) {
  if (!socket) return "nobody listens";
  const auto begin = Clock::now();
  pollfd entry{socket.get(), POLLIN, 0};
  if (poll(&entry, 1, static_cast<int>(seconds * 1000)) == 0) return "still connected after " + std::to_string(seconds_since(begin)) + " s";
  char byte = 0;
  return recv(socket.get(), &byte, 1, MSG_DONTWAIT) > 0 ? "it was answered" : "";
}

Result<std::unique_ptr<Bootstrap>> connect_rank(std::uint32_t rank, std::uint32_t size, const std::string& job, double seconds) {
  return make_local_bootstrap(rank, size, job, deadline_in(seconds));
}

std::string exchange(Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t size, double seconds) {
  const auto given = [](std::uint32_t by) { return std::vector<std::byte>(1 + by * 7 % 401, static_cast<std::byte>(by)); };  // of unlike lengths
  const auto all = bootstrap.all_gather({given(rank), {}}, deadline_in(seconds));
  if (!all) return to_string(all.error());
  if (all->all().size() != size) return std::to_string(all->all().size()) + " ranks came";
  for (std::uint32_t peer = 0; peer < size; ++peer)
    if ((*all)[peer].bytes != given(peer)) return "rank " + std::to_string(peer) + " came wrong";
  return "";
}

std::string meet(std::uint32_t rank, std::uint32_t size, const std::string& job, double seconds) {
  auto bootstrap = connect_rank(rank, size, job, seconds);
  return bootstrap ? exchange(**bootstrap, rank, size, seconds) : to_string(bootstrap.error());
}

std::string expect_words(const std::string& text, const std::vector<std::string>& words, Clock::time_point begin, double bound_seconds) {
  if (const double took = seconds_since(begin); took > bound_seconds) return "took " + std::to_string(took) + " s: " + text;
  for (const std::string& word : words)
    if (text.find(word) == std::string::npos) return "'" + word + "' is missing in '" + text + "'";
  return "";
}
