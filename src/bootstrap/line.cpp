#include "bootstrap/line.hpp"

#include "base/reachability.hpp"

namespace rondo {

/// A peer that is busy for seconds takes nothing, and then its kernel has no room: that must not end a connection as it may before.
Line::Line(PeerSocket peer) : peer_(std::move(peer)) { end_after(socket(), 0); }

bool Line::is_cut_off() {
  if (ended_ || !rondo::is_cut_off(socket())) return false;
  return ended_ = true;
}

Moved Line::write() {
  while (!outgoing_.empty()) {
    const auto step = outgoing_.front().write(socket());
    if (step && *step != Moved::done) return *step;
    if (step) outgoing_.pop_front();
    else outgoing_.clear();
  }
  return Moved::done;
}

}  // namespace rondo
