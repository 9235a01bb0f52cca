// One pair's connection, as one of its ranks has it: all their links in one stream, each with a window of messages of its own, so that one whose receiver
// is elsewhere holds no other up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "base/live_fd.hpp"
#include "base/reachability.hpp"
#include "rondo/transport.hpp"
#include "transports/tcp/buffers.hpp"

namespace rondo::tcp {

inline constexpr std::uint32_t window = 16;  ///< messages of a link that its receiver hasn't released
inline constexpr std::uint64_t largest_message = std::uint64_t{1} << 30;

/// What a frame begins with. A message's payload follows, others have none. Little-endian, as all machines are that Rondo runs on.
struct Head {
  enum class Kind : std::uint32_t { message, credit, heartbeat };
  std::uint32_t channel;
  Kind kind;
  std::uint64_t bytes;  ///< message: of the payload; credit: how many messages of the channel have been released since the beginning; heartbeat: 0
  std::uint64_t header[Message::header_words];
};
static_assert(sizeof(Head) == 72);

/// Not thread-safe. Nothing blocks.
class Connection {
 public:
  Connection(Fd socket, Buffers& buffers) : socket_(std::move(socket)), buffers_(buffers) {}
  /// Whether this is a forked child's copy, whose connection is closed.
  bool is_parents() const { return socket_.is_parents(); }

  Message send_slot(std::uint32_t channel, std::uint64_t bytes);
  void post(std::uint32_t channel);
  Message receive_slot(std::uint32_t channel);
  void release(std::uint32_t channel);
  bool idle(std::uint32_t channel) const;

  /// Takes what has come, and writes what waits.
  void read();
  void write();
  /// Of a rank that waits, some times a second: gives the peer's kernel something to acknowledge, and ends when that hasn't acknowledged for 1.5 s what was
  /// sent again and again. A peer that is stopped, or has no room, is none of that kind: its kernel answers.
  void watch();
  bool has_unwritten() const { return !outgoing_.empty(); }
  /// How many bytes haven't reached the peer's kernel and still may.
  std::uint64_t undelivered() const;
  /// Whether some of these were lost on the way and are sent again: that takes longer than a peer that listens needs.
  bool is_resending() const { return !ended_ && rondo::is_resending(socket_.get()); }
  /// The peer hung up, or said what no peer says.
  bool has_ended() const { return ended_; }
  int socket() const { return socket_.get(); }

 private:
  struct Sending {
    std::uint64_t posted = 0;
    std::uint64_t written = 0;
    std::uint64_t released = 0;  ///< by the peer
    Buffer slot;                 ///< that send_slot() gave
    std::uint64_t bytes = 0;
  };
  struct Received {
    Buffer buffer;
    std::uint64_t bytes = 0;
  };
  struct Receiving {
    std::deque<Received> messages;
    std::uint64_t received = 0;
    std::uint64_t released = 0;
    std::uint64_t told = 0;  ///< of the released ones
  };
  struct Outgoing {
    Buffer buffer;
    std::size_t bytes = 0;
    Sending* link = nullptr;  ///< null: no message
  };

  bool send_head(const Head& head);
  void parse();
  bool begin(const Head& head);
  void deliver();
  void take_written(std::size_t bytes);

  LiveFd socket_;
  Buffers& buffers_;
  bool ended_ = false;
  std::unordered_map<std::uint32_t, Sending> sending_;
  std::unordered_map<std::uint32_t, Receiving> receiving_;
  std::deque<Outgoing> outgoing_;
  std::size_t written_ = 0;  ///< of the first outgoing

  std::array<std::byte, 4096> stage_;  ///< bytes read and not yet understood: heads, and the beginnings of payloads
  std::size_t stage_begin_ = 0;
  std::size_t stage_end_ = 0;
  Receiving* coming_to_ = nullptr;  ///< whose message is coming in; null: a head comes next
  Received coming_;
  std::uint64_t came_ = 0;  ///< of its payload
};

}  // namespace rondo::tcp
