// Where rank 0 takes the others in, and how it finds out who they are: the same meeting is held behind every door.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/peers.hpp"
#include "rondo/result.hpp"

namespace rondo {

enum class Heard { nothing_new, all, nonsense };

/// What is said with somebody who knocks until it is known who that is. Of a fixed size: a stranger makes rank 0 take no more memory.
class Greeting {
 public:
  virtual ~Greeting() = default;
  /// Takes what has come, and answers where an answer is due. Doesn't block. Descriptors that come along are dropped by the kernel.
  virtual Heard listen_to(int socket) = 0;
  /// Whether anything whole has come: who has said nothing makes room for others first.
  virtual bool has_begun() const = 0;
  /// Once all is heard.
  virtual const Hello& hello() const = 0;
  /// Why it was nonsense, where that may help those who wait for a rank; else empty.
  virtual std::string complaint() const { return {}; }
};

class Door {
 public:
  virtual ~Door() = default;
  /// That somebody can be taken in is to be read from it.
  virtual int socket() const = 0;
  /// Somebody who knocks. No socket: nobody does, with errno as accept() left it; or it was somebody whom this job has nothing to do with, errno 0.
  virtual PeerSocket open() = 0;
  virtual std::unique_ptr<Greeting> greet() const = 0;
};

/// Takes what has come into `bytes` of room of which `came` are there already: everything that can be said at one go.
Heard take_bytes(int socket, void* room, std::size_t bytes, std::size_t& came);

}  // namespace rondo
