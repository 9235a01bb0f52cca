// What ranks tell one another before they are a communicator. The first byte says which of it: h a hello, f the bytes of a frame, i a rank's
// introduction, v a verdict, u a unique id, l letters to rank 0 of three, t what comes over a TCP link from a peer.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "bootstrap/correspondence.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/peers.hpp"
#include "bootstrap/unique_id.hpp"
#include "communicator/rank_info.hpp"
#include "fuzz.hpp"
#include "transports/tcp/connection.hpp"

using namespace rondo;

namespace {

constexpr std::size_t longest = 64 << 10;  // a socket takes it whole

void introduce(const Address& address) {
  const Result<RankInfo> info = unpack_rank_info(address);
  if (!info) {
    fuzz::expect(!info.error().detail.empty(), "an error without a word");
    return;
  }
  const Address written = pack(*info);
  const Result<RankInfo> again = unpack_rank_info(written);
  fuzz::expect(static_cast<bool>(again), "what was written can't be read");
  fuzz::expect(pack(*again).bytes == written.bytes, "what was read again differs");
}

Address content_of(const std::uint8_t* data, std::size_t size) {
  Address content;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  content.bytes.assign(bytes, bytes + size);
  return content;
}

void receive(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  fuzz::expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no pair of sockets");
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  fuzz::expect(send(theirs.get(), data, size, MSG_DONTWAIT) == static_cast<ssize_t>(size), "a socket took less than all");
  theirs.reset();
  if (const auto frame = receive_frame(ours.get(), std::numeric_limits<std::int64_t>::max())) introduce(*frame);
}

/// A round of which rank 1 sends these bytes and rank 2 nothing.
void correspond(const std::uint8_t* data, std::size_t size) {
  std::vector<PeerSocket> peers(3);
  std::vector<Fd> theirs;
  for (const std::uint32_t rank : {1u, 2u}) {
    int ends[2];
    fuzz::expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no pair of sockets");
    peers[rank] = {Fd(ends[0]), ""};
    theirs.emplace_back(ends[1]);
  }
  fuzz::expect(send(theirs[0].get(), data, size, MSG_DONTWAIT) == static_cast<ssize_t>(size), "a socket took less than all");
  for (const Fd& end : theirs) shutdown(end.get(), SHUT_WR);
  Correspondence correspondence(0, 3, std::move(peers), false);
  fuzz::expect(!correspondence.all_gather({}, std::numeric_limits<std::int64_t>::max()), "a round without a rank's gift");
}

/// A socket on which so much comes, and then its end.
Fd one_that_says(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  fuzz::expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "no pair of sockets");
  Fd own(ends[0]), peer(ends[1]);
  fuzz::expect(send(peer.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(size), "a socket took less than all");
  return own;
}

/// Everything is taken that comes on two channels, as long as it comes; on the own call, the peer's or, where they have crossed, both. The first byte says
/// which, and how much comes on the own call.
void listen_to_link(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const bool calls = (data[0] & 1) != 0, is_called = (data[0] & 2) != 0 || !calls, lower = (data[0] & 4) != 0;
  const std::size_t all = size - 1, on_own = calls ? (is_called ? all * (data[0] >> 3) / 31 : all) : 0;
  tcp::Buffers buffers;
  tcp::Connection link(lower, buffers);
  for (const std::uint32_t channel : {0u, 1u})
    if (link.send_slot(channel, 8).payload != nullptr) link.post(channel);  // so that some credits are right
  if (calls) link.answered(LiveFd(one_that_says(data + 1, on_own)));
  if (is_called) fuzz::expect(link.take_call(LiveFd(one_that_says(data + 1 + on_own, all - on_own))), "a peer's first call isn't taken");
  for (std::uint32_t turns = 0; !link.has_ended(); ++turns) {
    fuzz::expect(turns < 1000, "a link whose sockets are at their end goes on");
    link.read();
    link.write();
    link.watch();
    for (const std::uint32_t channel : {0u, 1u})
      for (Message message = link.receive_slot(channel); message.payload != nullptr; message = link.receive_slot(channel)) {
        fuzz::expect(message.bytes <= size, "a message is longer than all that came");
        link.release(channel);
      }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > longest) return 0;
  const char kind = static_cast<char>(data[0]);
  ++data;
  --size;
  if (kind == 'i') introduce(content_of(data, size));
  if (kind == 'f') receive(data, size);
  if (kind == 'v') (void)unpack_verdict(content_of(data, size));
  if (kind == 'u') (void)place_of_unique_id(std::string(reinterpret_cast<const char*>(data), size));
  if (kind == 'l') correspond(data, size);
  if (kind == 't') listen_to_link(data, size);
  if (kind == 'h') {
    Hello hello{};
    std::memcpy(&hello, data, std::min(size, sizeof hello));
    (void)judge(hello, 4, "job", name_of(hello.rank, "process 7"));
  }
  return 0;
}
