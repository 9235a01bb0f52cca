// One length-prefixed message with descriptors over a UNIX stream socket.
#pragma once

#include <cstdint>

#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

inline constexpr std::uint64_t largest_frame = std::uint64_t{8} << 20;
inline constexpr std::size_t most_descriptors = 8;  ///< in one frame

/// Sends all or fails. Blocks until `deadline_ns`. Errors: io with errno EPIPE/ECONNRESET when the peer has gone; deadline_exceeded.
Result<void> send_frame(int socket, const Address& content, std::int64_t deadline_ns);

/// Receives one frame; descriptors become the caller's. Frames above the limits are refused before memory is taken.
Result<Address> receive_frame(int socket, std::int64_t deadline_ns);

}  // namespace rondo
