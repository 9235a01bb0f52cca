// The first bytes that a rank sends to rank 0, and where: all that a stranger can make rank 0 read.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>

#include "rondo/result.hpp"

namespace rondo {

inline constexpr char hello_magic[8] = {'r', 'o', 'n', 'd', 'o', 'h', 'i', '1'};

/// Of one size whatever it says, so that nothing is allocated for it. `magic`, `version` and `rank` keep their places for ever:
/// they are what another version of the library may still read.
struct Hello {
  char magic[8];
  std::int32_t version;  ///< the library's
  std::uint32_t rank;
  std::uint32_t size;
  char complaint[236];   ///< why this rank can't take part, "" when it can; ends with a zero
};
static_assert(sizeof(Hello) == 256);

/// What a rank says of itself, its own trouble too. Of a job on this machine; over a network its magic is another one.
Hello hello_of(std::uint32_t rank, std::uint32_t size, const Result<void>& own_trouble);

/// Whether a rank that says this can be of rank 0's job of `size` ranks; `name` is what it is called in the error.
Result<void> judge(const Hello& hello, std::uint32_t size, const std::string& job, const std::string& name);

/// An abstract name: nothing in any file system, gone with its last socket.
struct SocketName {
  sockaddr_un address{};
  socklen_t length = 0;
};

/// Where rank 0 of this user's job listens.
SocketName socket_name(const std::string& job);

}  // namespace rondo
