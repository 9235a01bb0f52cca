// Whether the machine at the other end of a TCP connection still answers.
#pragma once

#include <cstdint>

namespace rondo {

/// How many bytes a socket was given that the peer's kernel hasn't acknowledged.
std::uint64_t unacknowledged(int socket);

/// Whether the peer's kernel has left unacknowledged for 1.5 s what it was sent again and again. A peer that is stopped, or has no room, is none of that kind:
/// its kernel answers.
bool is_cut_off(int socket);

/// Whether packets haven't been acknowledged yet: they are on their way, or were lost and will be sent again. What waits for room at the peer is in none.
bool has_packets_out(int socket);

/// After so long without a word a peer's machine counts as gone, where a death is to be found within 3 s.
inline constexpr unsigned longest_silence_ms = 1700;

/// The kernel ends the connection when the peer hasn't acknowledged for so long what it was sent, or has had no room for it; 0: it doesn't.
void end_after(int socket, unsigned milliseconds);

/// What is under way is sent again each fifth of a second as long as it is little, and not ever more seldom: so few packets lost in a row are no death.
void try_often(int socket);

}  // namespace rondo
