// One mapped memfd.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fd.hpp"
#include "rondo/result.hpp"

namespace rondo {

class SharedSegment {
 public:
  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  /// A new one: `bytes` of address space, sealed against resizing, no memory behind it yet.
  static Result<SharedSegment> create(std::uint64_t bytes);
  /// Maps a peer's. Errors when it isn't a sealed memfd of exactly `bytes`: what a peer sends is not trusted.
  static Result<SharedSegment> map(int fd, std::uint64_t bytes);

  /// Takes memory for [offset, offset + bytes): an error and not SIGBUS when there is none.
  Result<void> commit(std::uint64_t offset, std::uint64_t bytes);
  /// Gives it back. What can't be given back stays taken, and is zero all the same.
  void give_back(std::uint64_t offset, std::uint64_t bytes);

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace rondo
