#include "bootstrap/frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"

namespace rondo {
namespace {

struct FrameHead {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t descriptors;
};
constexpr char frame_magic[8] = {'r', 'o', 'n', 'd', 'o', 'f', 'r', '1'};

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

/// The kernel limits the descriptors that a user has under way between processes: others must take theirs first.
Result<void> await_fewer_under_way(std::int64_t deadline_ns) {
  if (now_ns() > deadline_ns) return Error{Errc::deadline_exceeded, "too many descriptors under way (limit: ulimit -n)", ETOOMANYREFS, "bootstrap"};
  usleep(1000);
  return {};
}

Result<void> send_all(int socket, const std::byte* data, std::uint64_t bytes, std::int64_t deadline_ns) {
  while (bytes != 0) {
    const ssize_t sent = send(socket, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      data += sent;
      bytes -= static_cast<std::uint64_t>(sent);
    } else if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (auto ready = await(socket, POLLOUT, deadline_ns); !ready) return ready;
    } else {
      return gone(errno);
    }
  }
  return {};
}

union ControlBuffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * most_descriptors)];
};

}  // namespace

Result<void> send_bytes(int socket, const void* data, std::size_t bytes, std::int64_t deadline_ns) {
  return send_all(socket, static_cast<const std::byte*>(data), bytes, deadline_ns);
}

Result<void> receive_bytes(int socket, void* into, std::size_t bytes, std::int64_t deadline_ns) {
  auto* data = static_cast<std::byte*>(into);
  while (bytes != 0) {
    const ssize_t got = recv(socket, data, bytes, MSG_DONTWAIT);
    if (got > 0) {
      data += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (auto ready = await(socket, POLLIN, deadline_ns); !ready) return ready;
    } else {
      return gone(got == 0 ? ECONNRESET : errno);
    }
  }
  return {};
}

Result<void> send_frame(int socket, const Address& content, std::int64_t deadline_ns) {
  FrameHead head{};
  std::memcpy(head.magic, frame_magic, sizeof head.magic);
  head.bytes = content.bytes.size();
  head.descriptors = content.descriptors.size();
  iovec part{&head, sizeof head};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!content.descriptors.empty()) {
    const std::size_t bytes = sizeof(int) * content.descriptors.size();
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), content.descriptors.data(), bytes);
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {  // the descriptors have gone with the first byte
      const auto part_sent = static_cast<std::size_t>(sent);
      if (auto rest = send_all(socket, reinterpret_cast<std::byte*>(&head) + part_sent, sizeof head - part_sent, deadline_ns); !rest) return rest;
      break;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ETOOMANYREFS) return gone(errno);
    if (auto ready = errno == ETOOMANYREFS ? await_fewer_under_way(deadline_ns) : await(socket, POLLOUT, deadline_ns); !ready) return ready;
  }
  crash_point("bootstrap: head of a frame sent");
  auto sent = send_all(socket, content.bytes.data(), content.bytes.size(), deadline_ns);
  crash_point("bootstrap: frame sent");
  return sent;
}

Result<Address> receive_frame(int socket, std::int64_t deadline_ns) {
  FrameHead head{};
  iovec part{&head, sizeof head};
  ControlBuffer control{};
  Address content;
  ssize_t got = 0;
  for (;;) {
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (auto ready = await(socket, POLLIN, deadline_ns); !ready) return ready.error();
      continue;
    }
    if (got <= 0) return gone(got == 0 ? ECONNRESET : errno);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header))
      if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        content.descriptors.resize(count);
        std::memcpy(content.descriptors.data(), CMSG_DATA(header), count * sizeof(int));
      }
    break;
  }
  const auto refuse = [&](const Error& error) -> Result<Address> {
    for (const int fd : content.descriptors) close(fd);
    return error;
  };
  if (got < static_cast<ssize_t>(sizeof head)) {
    auto rest = receive_bytes(socket, reinterpret_cast<std::byte*>(&head) + got, sizeof head - static_cast<std::size_t>(got), deadline_ns);
    if (!rest) return refuse(rest.error());
  }
  if (std::memcmp(head.magic, frame_magic, sizeof frame_magic) != 0 || head.bytes > largest_frame)
    return refuse(Error{Errc::invalid_argument, "a peer sent bytes that are no Rondo message of this version", 0, "bootstrap"});
  if (head.descriptors != content.descriptors.size())
    return refuse(no_descriptor_left("take " + std::to_string(head.descriptors) + " from a peer", EMFILE, "bootstrap"));
  crash_point("bootstrap: head of a frame received");
  content.bytes.resize(head.bytes);
  if (auto body = receive_bytes(socket, content.bytes.data(), head.bytes, deadline_ns); !body) return refuse(body.error());
  crash_point("bootstrap: frame received");
  return content;
}

}  // namespace rondo
