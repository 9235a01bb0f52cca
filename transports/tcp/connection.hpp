// One pair's connection, as one of its ranks has it: all their links in one stream, each with a window of messages of its own, so that one whose receiver
// is elsewhere holds no other up. Where both have called one another they come down to one socket.
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
  enum class Kind : std::uint32_t { message, credit, heartbeat, moved, crossed, nobody };
  std::uint32_t channel;
  Kind kind;
  std::uint64_t bytes;  ///< message: of the payload; credit: how many messages of the channel have been released since the beginning; others: 0
  std::uint64_t header[Message::header_words];
};
static_assert(sizeof(Head) == 72);

/// Not thread-safe. Nothing blocks. What is posted before there is a socket waits for it.
///
/// Where both ranks have called before either heard of it, the lower rank's socket stays. What the higher one has begun to say on its own it ends with `moved`,
/// and goes on with `crossed` on the lower one's, by which that one knows that there is a `moved` to be read first.
class Connection {
 public:
  /// `lower`: whether this rank is the lower of the two.
  Connection(bool lower, Buffers& buffers) : lower_(lower), buffers_(buffers) {}

  /// The own call was answered, and has been said. Not after the peer's was taken.
  void answered(LiveFd socket);
  /// The peer's call. False when it can't have called, and isn't who it says.
  bool take_call(LiveFd socket);
  bool has_socket() const { return static_cast<bool>(socket_); }

  Message send_slot(std::uint32_t channel, std::uint64_t bytes);
  void post(std::uint32_t channel);
  Message receive_slot(std::uint32_t channel);
  void release(std::uint32_t channel);
  bool idle(std::uint32_t channel) const;

  /// Of a rank that leaves: who has called and was told nothing is refused, so that it isn't taken for a death.
  void excuse();

  /// Takes what has come, and writes what waits.
  void read();
  void write();
  /// Of a rank that waits, some times a second: gives the peer's kernel something to acknowledge, and ends when that hasn't acknowledged for 1.5 s what was
  /// sent again and again. A peer that is stopped, or has no room, is none of that kind: its kernel answers.
  void watch();
  bool has_unwritten() const { return has_socket() && !ended_ && !deaf_ && !outgoing_.empty(); }
  /// How many bytes haven't reached the peer's kernel and still may.
  std::uint64_t undelivered() const;
  /// Whether some of these are on their way. Where one was lost, it may take the kernel a fifth of a second to find out.
  bool has_packets_out() const { return !ended_ && has_socket() && rondo::has_packets_out(socket_.get()); }
  /// The peer hung up, or said what no peer says.
  bool has_ended() const { return ended_; }
  /// Nobody has the seat that this rank called: the peer has left.
  bool was_refused() const { return refused_; }
  /// Those that may have something to read; -1 for none.
  std::array<int, 2> sockets() const { return {socket_.get(), older_.get()}; }

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
    bool moves = false;       ///< the last on this socket
  };

  void move();
  void go_deaf();
  void begin_again(LiveFd socket);
  void end();
  bool send_head(const Head& head);
  const LiveFd* next_to_read() const;
  bool read_first_head();
  /// Whether what is read next is the first thing that was said on the own call: then no more than that is read, since it may be `crossed`.
  bool reads_first_head() const { return lower_ && called_ && !older_ && !had_first_head_; }
  void parse();
  bool begin(const Head& head);
  bool begin_message(const Head& head);
  bool take_credit(const Head& head);
  bool leave_older();
  void deliver();
  void take_written(std::size_t bytes);

  const bool lower_;
  Buffers& buffers_;
  LiveFd socket_;        ///< where this rank writes
  LiveFd older_;         ///< of the lower rank: the higher one's, to be read until that has moved
  LiveFd next_;          ///< of the higher rank: the lower one's, once this rank has moved

  bool called_ = false;                ///< socket_ is of the own call
  bool taken_ = false;                 ///< the peer has called
  bool had_first_head_ = false;        ///< of the own call
  bool crossed_ = false;               ///< of the lower rank: the peer says that it had called, too
  bool left_older_ = false;            ///< and that has been read to its end
  std::uint32_t watches_in_vain_ = 0;  ///< how long it hasn't come
  bool has_spoken_ = false;            ///< something was written
  bool refused_ = false;               ///< by a peer that has left
  bool deaf_ = false;                  ///< the peer takes nothing more; what it has said is still to be read
  bool ended_ = false;                 ///< and has been

  std::unordered_map<std::uint32_t, Sending> sending_;
  std::unordered_map<std::uint32_t, Receiving> receiving_;
  std::deque<Outgoing> outgoing_;
  std::size_t written_ = 0;  ///< of the first outgoing

  std::array<std::byte, sizeof(Head)> first_head_;  ///< what has come of the own call's
  std::size_t first_came_ = 0;
  std::array<std::byte, 4096> stage_;  ///< bytes read and not yet understood: heads, and the beginnings of payloads
  std::size_t stage_begin_ = 0;
  std::size_t stage_end_ = 0;
  Receiving* coming_to_ = nullptr;  ///< whose message is coming in; null: a head comes next
  Received coming_;
  std::uint64_t came_ = 0;  ///< of its payload
};

}  // namespace rondo::tcp
