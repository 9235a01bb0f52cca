// Length-prefixed messages with descriptors over a stream socket (descriptors: a UNIX one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

inline constexpr std::uint64_t largest_frame = std::uint64_t{8} << 20;
inline constexpr std::size_t most_descriptors = 8;  ///< in one frame

/// Kinds of frames: those of letters (rounds.hpp). A plain one's is 0.
struct FrameHead {
  char magic[8];
  std::uint64_t bytes;
  std::uint32_t descriptors;
  std::uint32_t kind;
};
static_assert(sizeof(FrameHead) == 24);

/// How far something got that doesn't block.
enum class Moved {
  done,
  blocked,  ///< the socket isn't ready
  crowded,  ///< the user has too many descriptors under way between processes: others must take theirs first
};

/// One frame on its way out. Keeps `content`.
class FrameWriter {
 public:
  FrameWriter(std::uint32_t kind, std::shared_ptr<const Address> content);
  /// Errors: io with errno EPIPE/ECONNRESET when the peer has gone.
  Result<Moved> write(int socket);

 private:
  Result<Moved> write_head(int socket);

  FrameHead head_;
  std::shared_ptr<const Address> content_;
  std::size_t head_sent_ = 0;
  std::uint64_t sent_ = 0;
};

/// Frames as they come in, one after another; nothing is read beyond the frame that is awaited. Between frames the bytes of a lifeline are passed over: its
/// end is in use already when the peer has finished its last round before this one.
class FrameReader {
 public:
  FrameReader() = default;
  FrameReader(FrameReader&&) = default;
  ~FrameReader() { drop(); }

  /// done: a frame is there. `largest`: of its bytes; memory is taken as they come. Errors: io when the peer has gone, invalid_argument when it is no frame,
  /// out_of_resources when its descriptors find no room.
  template <class Largest>
  Result<Moved> read(int socket, const Largest& largest) {
    if (!has_head_) {
      auto head = read_head(socket);
      if (!head || *head != Moved::done) return head;
      if (auto fits = check_head(largest(head_.kind)); !fits) return fits.error();
    }
    return read_body(socket);
  }
  std::uint32_t kind() const { return head_.kind; }
  /// The frame; descriptors become the caller's.
  Address take();

 private:
  Result<Moved> read_head(int socket);
  Result<void> check_head(std::uint64_t largest) const;
  Result<Moved> read_body(int socket);
  void drop();

  FrameHead head_{};
  std::size_t head_came_ = 0;
  bool has_head_ = false;
  std::uint64_t came_ = 0;
  Address content_;
};

/// Bytes without a head, for what is said before a peer is known. Blocks and fails as send_frame.
Result<void> send_bytes(int socket, const void* data, std::size_t bytes, std::int64_t deadline_ns);
Result<void> receive_bytes(int socket, void* data, std::size_t bytes, std::int64_t deadline_ns);

/// Sends a plain frame or fails. Blocks until `deadline_ns`. Errors: as FrameWriter; deadline_exceeded.
Result<void> send_frame(int socket, Address content, std::int64_t deadline_ns);

/// Receives one plain frame; descriptors become the caller's. Errors: as FrameReader; deadline_exceeded.
Result<Address> receive_frame(int socket, std::int64_t deadline_ns);

}  // namespace rondo
