// What ranks tell one another before they are a communicator. The first byte says which of it: h a hello, f the bytes of a frame, i a rank's
// introduction, v a verdict.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/peers.hpp"
#include "communicator/rank_info.hpp"
#include "fuzz.hpp"

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

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > longest) return 0;
  const char kind = static_cast<char>(data[0]);
  ++data;
  --size;
  if (kind == 'i') introduce(content_of(data, size));
  if (kind == 'f') receive(data, size);
  if (kind == 'v') (void)unpack_verdict(content_of(data, size));
  if (kind == 'h') {
    Hello hello{};
    std::memcpy(&hello, data, std::min(size, sizeof hello));
    (void)judge(hello, 4, "job", name_of(hello.rank, "process 7"));
  }
  return 0;
}
