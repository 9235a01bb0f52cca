// A connection to another rank, by which letters pass (rounds.hpp). Nothing blocks.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "bootstrap/frame.hpp"
#include "bootstrap/peers.hpp"
#include "bootstrap/rounds.hpp"

namespace rondo {

class Line {
 public:
  explicit Line(PeerSocket peer);

  int socket() const { return peer_.socket.get(); }
  const std::string& whom() const { return peer_.whom; }
  PeerSocket take() { return std::move(peer_); }

  void say(Letter::Kind kind, std::shared_ptr<const Address> content) { outgoing_.emplace_back(static_cast<std::uint32_t>(kind), std::move(content)); }
  bool has_unsent() const { return !outgoing_.empty(); }
  /// What is unsent stays so.
  void forget() { outgoing_.clear(); }
  /// What can be written is. Where the peer has gone nothing is kept for it: that it has gone, and why, is found by reading.
  Moved write();

  /// done: a letter is there, for kind() and content(). Errors: as FrameReader's; then the line is at its end.
  template <class Largest>
  Result<Moved> read(const Largest& largest) {
    auto step = reader_.read(socket(), largest);
    if (!step) ended_ = true;
    return step;
  }
  Letter::Kind kind() const { return static_cast<Letter::Kind>(reader_.kind()); }
  Address content() { return reader_.take(); }
  bool has_ended() const { return ended_; }
  /// Whether it has ended because nothing is heard any more of the peer's machine; to be asked some times a second.
  bool is_cut_off();

 private:
  PeerSocket peer_;
  std::deque<FrameWriter> outgoing_;
  FrameReader reader_;
  bool ended_ = false;
};

}  // namespace rondo
