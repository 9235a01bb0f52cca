// A call to a peer that hasn't been answered yet.
#pragma once

#include <cstdint>
#include <optional>

#include "base/live_fd.hpp"
#include "rondo/result.hpp"
#include "transports/tcp/place.hpp"

namespace rondo::tcp {

/// Answered by the peer's kernel, whatever the peer does. Nothing blocks.
class Calling {
 public:
  /// From the address of `own`, on whatever port.
  Calling(std::uint32_t peer, const Place& place, const Place& own, std::int64_t now_ns) : peer_(peer), place_(place), own_(own), began_ns_(now_ns) {}

  /// The socket once there is an answer. An attempt that gets none is made again, its packets may be lost. Errors, that say where: peer_failed
  /// (nobody listens there), unsupported (it can't be reached, or nothing has answered for 1.7 s), out_of_resources (descriptors).
  std::optional<Result<LiveFd>> look(std::int64_t now_ns);

 private:
  std::optional<Error> attempt(std::int64_t now_ns);
  Error unreachable(int number) const;

  const std::uint32_t peer_;
  const Place place_;
  const Place own_;
  const std::int64_t began_ns_;
  LiveFd socket_;
  std::int64_t attempted_ns_ = 0;
  int number_ = 0;  ///< the last attempt's error
};

}  // namespace rondo::tcp
