#include "bootstrap/frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"

namespace rondo {
namespace {

constexpr char frame_magic[8] = {'r', 'o', 'n', 'd', 'o', 'f', 'r', '1'};
constexpr std::uint64_t memory_step = std::uint64_t{1} << 20;  // taken for what is announced, before it comes

Error gone(int number) { return Error{Errc::io, "the connection ended", number, "bootstrap"}; }

Result<void> await(int socket, short events, std::int64_t deadline_ns) {
  for (;;) {
    const std::int64_t left = deadline_ns - now_ns();
    if (left <= 0) return Error{Errc::deadline_exceeded, "no answer in time", 0, "bootstrap"};
    pollfd entry{socket, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return gone(errno);
  }
}

Result<void> await_fewer_under_way(std::int64_t deadline_ns) {
  if (now_ns() > deadline_ns) return Error{Errc::deadline_exceeded, "too many descriptors under way (limit: ulimit -n)", ETOOMANYREFS, "bootstrap"};
  usleep(1000);
  return {};
}

/// What a call that moves bytes gave: they are counted in `moved`.
Result<Moved> step_of(ssize_t result, std::uint64_t& moved, bool reads) {
  if (result > 0) {
    moved += static_cast<std::uint64_t>(result);
    return Moved::done;
  }
  if (result == 0 && reads) return gone(ECONNRESET);
  if (errno == ETOOMANYREFS && !reads) return Moved::crowded;
  if (errno == EAGAIN || errno == EINTR) return Moved::blocked;
  return gone(errno);
}

/// Moves `bytes` by `move`, of which `moved` have been.
template <class Move>
Result<Moved> move_all(std::uint64_t bytes, std::uint64_t& moved, bool reads, const Move& move) {
  while (moved < bytes) {
    auto step = step_of(move(moved, bytes - moved), moved, reads);
    if (!step || *step != Moved::done) return step;
  }
  return Moved::done;
}

/// Until `turn` is done.
template <class Turn>
Result<void> wait_through(int socket, short events, std::int64_t deadline_ns, const Turn& turn) {
  for (;;) {
    const Result<Moved> step = turn();
    if (!step) return step.error();
    if (*step == Moved::done) return {};
    if (auto ready = *step == Moved::crowded ? await_fewer_under_way(deadline_ns) : await(socket, events, deadline_ns); !ready) return ready;
  }
}

union ControlBuffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * most_descriptors)];
};

}  // namespace

FrameWriter::FrameWriter(std::uint32_t kind, std::shared_ptr<const Address> content) : head_{}, content_(std::move(content)) {
  std::memcpy(head_.magic, frame_magic, sizeof head_.magic);
  head_.bytes = content_->bytes.size();
  head_.descriptors = static_cast<std::uint32_t>(content_->descriptors.size());
  head_.kind = kind;
}

/// The descriptors go with its first byte.
Result<Moved> FrameWriter::write_head(int socket) {
  iovec part{reinterpret_cast<std::byte*>(&head_) + head_sent_, sizeof head_ - head_sent_};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (head_sent_ == 0 && !content_->descriptors.empty()) {
    const std::size_t bytes = sizeof(int) * content_->descriptors.size();
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), content_->descriptors.data(), bytes);
  }
  return step_of(sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT), head_sent_, false);
}

Result<Moved> FrameWriter::write(int socket) {
  while (head_sent_ < sizeof head_) {
    auto step = write_head(socket);
    if (!step || *step != Moved::done) return step;
    if (head_sent_ == sizeof head_) crash_point("bootstrap: head of a frame sent");
  }
  auto step = move_all(content_->bytes.size(), sent_, false, [&](std::uint64_t begin, std::uint64_t bytes) {
    return send(socket, content_->bytes.data() + begin, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
  if (step && *step == Moved::done) crash_point("bootstrap: frame sent");
  return step;
}

void FrameReader::drop() {
  for (const int fd : content_.descriptors) close(fd);
  content_ = {};
}

Address FrameReader::take() {
  has_head_ = false;
  head_came_ = came_ = 0;
  return std::exchange(content_, {});
}

Result<Moved> FrameReader::read_head(int socket) {
  while (head_came_ < sizeof head_) {
    iovec part{reinterpret_cast<std::byte*>(&head_) + head_came_, sizeof head_ - head_came_};
    ControlBuffer control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    auto step = step_of(recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), head_came_, true);
    if (!step || *step != Moved::done) return step;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header))
      if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int), before = content_.descriptors.size();
        content_.descriptors.resize(before + count);
        std::memcpy(content_.descriptors.data() + before, CMSG_DATA(header), count * sizeof(int));
      }
    // Heartbeats are zeros, and a frame doesn't begin with one.
    auto* const bytes = reinterpret_cast<std::byte*>(&head_);
    const auto heartbeats = static_cast<std::uint64_t>(std::find_if(bytes, bytes + head_came_, [](std::byte byte) { return byte != std::byte{0}; }) - bytes);
    std::memmove(bytes, bytes + heartbeats, head_came_ -= heartbeats);
  }
  return Moved::done;
}

Result<void> FrameReader::check_head(std::uint64_t largest) const {
  if (std::memcmp(head_.magic, frame_magic, sizeof frame_magic) != 0 || head_.bytes > largest)
    return Error{Errc::invalid_argument, "a peer sent bytes that are no Rondo message of this version", 0, "bootstrap"};
  if (head_.descriptors != content_.descriptors.size())
    return no_descriptor_left("take " + std::to_string(head_.descriptors) + " from a peer", EMFILE, "bootstrap");
  return {};
}

Result<Moved> FrameReader::read_body(int socket) {
  if (!has_head_) crash_point("bootstrap: head of a frame received");
  has_head_ = true;
  while (came_ < head_.bytes) {
    if (came_ == content_.bytes.size()) content_.bytes.resize(came_ + std::min(memory_step, head_.bytes - came_));
    auto step = move_all(content_.bytes.size(), came_, true, [&](std::uint64_t begin, std::uint64_t bytes) {
      return recv(socket, content_.bytes.data() + begin, bytes, MSG_DONTWAIT);
    });
    if (!step || *step != Moved::done) return step;
  }
  crash_point("bootstrap: frame received");
  return Moved::done;
}

Result<void> send_bytes(int socket, const void* data, std::size_t bytes, std::int64_t deadline_ns) {
  std::uint64_t sent = 0;
  return wait_through(socket, POLLOUT, deadline_ns, [&] {
    return move_all(bytes, sent, false, [&](std::uint64_t begin, std::uint64_t rest) {
      return send(socket, static_cast<const char*>(data) + begin, rest, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
  });
}

Result<void> receive_bytes(int socket, void* into, std::size_t bytes, std::int64_t deadline_ns) {
  std::uint64_t came = 0;
  return wait_through(socket, POLLIN, deadline_ns, [&] {
    return move_all(bytes, came, true, [&](std::uint64_t begin, std::uint64_t rest) {
      return recv(socket, static_cast<char*>(into) + begin, rest, MSG_DONTWAIT);
    });
  });
}

Result<void> send_frame(int socket, Address content, std::int64_t deadline_ns) {
  FrameWriter writer(0, std::make_shared<const Address>(std::move(content)));
  return wait_through(socket, POLLOUT, deadline_ns, [&] { return writer.write(socket); });
}

Result<Address> receive_frame(int socket, std::int64_t deadline_ns) {
  FrameReader reader;
  const auto came = wait_through(socket, POLLIN, deadline_ns, [&] { return reader.read(socket, [](std::uint32_t) { return largest_frame; }); });
  return came ? reader.take() : Result<Address>(came.error());
}

}  // namespace rondo
