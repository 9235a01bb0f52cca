// A descriptor whose being open tells peers that this process lives.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "base/fork_guard.hpp"

namespace rondo {

/// Closes itself, in a forked child at the fork already: there the number may be somebody else's since, and is left alone.
class LiveFd {
 public:
  LiveFd() = default;
  explicit LiveFd(Fd fd) : fd_(std::move(fd)), born_in_(fork_generation()) {
    if (fd_) close_in_children(fd_.get());
  }
  LiveFd(LiveFd&& other) noexcept : fd_(std::move(other.fd_)), born_in_(other.born_in_) {}
  LiveFd& operator=(LiveFd&& other) noexcept {
    if (this == &other) return *this;
    reset();
    fd_ = std::move(other.fd_);
    born_in_ = other.born_in_;
    return *this;
  }
  ~LiveFd() { reset(); }

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  bool is_parents() const { return born_in_ != fork_generation(); }

  void reset() {
    if (fd_ && is_parents()) (void)fd_.release();
    if (fd_) forget_in_children(fd_.get());
    fd_.reset();
  }

 private:
  Fd fd_;
  std::uint64_t born_in_ = 0;
};

}  // namespace rondo
