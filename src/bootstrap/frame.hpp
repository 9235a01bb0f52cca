// One length-prefixed message with descriptors over a stream socket (descriptors: a UNIX one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

inline constexpr std::uint64_t largest_frame = std::uint64_t{8} << 20;
inline constexpr std::size_t most_descriptors = 8;  ///< in one frame

/// Bytes without a head, for what is said before a peer is known. Blocks and fails as send_frame.
Result<void> send_bytes(int socket, const void* data, std::size_t bytes, std::int64_t deadline_ns);
Result<void> receive_bytes(int socket, void* data, std::size_t bytes, std::int64_t deadline_ns);

/// Sends all or fails. Blocks until `deadline_ns`. Errors: io with errno EPIPE/ECONNRESET when the peer has gone; deadline_exceeded.
Result<void> send_frame(int socket, const Address& content, std::int64_t deadline_ns);

/// Receives one frame; descriptors become the caller's. Frames above the limits are refused before memory is taken.
Result<Address> receive_frame(int socket, std::int64_t deadline_ns);

}  // namespace rondo
