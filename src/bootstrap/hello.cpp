#include "bootstrap/hello.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>

#include "bootstrap/peers.hpp"
#include "rondo/communicator.hpp"

namespace rondo {

Hello hello_of(std::uint32_t rank, std::uint32_t size, const Result<void>& own_trouble) {
  Hello hello{};
  std::memcpy(hello.magic, hello_magic, sizeof hello.magic);
  hello.version = version();
  hello.rank = rank;
  hello.size = size;
  if (!own_trouble) own_trouble.error().detail.copy(hello.complaint, sizeof hello.complaint - 1);
  return hello;
}

Result<void> judge(const Hello& hello, std::uint32_t size, const std::string& job, const std::string& name) {
  if (hello.version != version())
    return in_bootstrap(Errc::mismatch, name + " runs version " + std::to_string(hello.version) + " of the library, rank 0 version " +
                                            std::to_string(version()));
  if (hello.size != size)
    return in_bootstrap(Errc::mismatch, name + " says that job '" + job + "' has " + std::to_string(hello.size) + " ranks, rank 0 says " +
                                            std::to_string(size));
  if (hello.complaint[0] != '\0')
    return in_bootstrap(Errc::peer_failed, name + " could not join: " + std::string(hello.complaint, strnlen(hello.complaint, sizeof hello.complaint)));
  return {};
}

SocketName socket_name(const std::string& job) {
  const std::string text = "rondo/" + std::to_string(getuid()) + "/" + job;
  SocketName name;
  name.address.sun_family = AF_UNIX;
  const std::size_t room = sizeof name.address.sun_path - 1;
  // A long name is shortened to its beginning and a hash of the whole.
  std::string fitted = text;
  if (text.size() > room) fitted = text.substr(0, room - 20) + "#" + std::to_string(std::hash<std::string>{}(text) % 1'000'000'000'000'000'000);
  std::memcpy(name.address.sun_path + 1, fitted.data(), fitted.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + fitted.size());
  return name;
}

}  // namespace rondo
