#include "bootstrap/door.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace rondo {

Heard take_bytes(int socket, void* room, std::size_t bytes, std::size_t& came) {
  const ssize_t got = recv(socket, static_cast<char*>(room) + came, bytes - came, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::nothing_new;
  if (got <= 0) return Heard::nonsense;
  came += static_cast<std::size_t>(got);
  return came == bytes ? Heard::all : Heard::nothing_new;
}

}  // namespace rondo
