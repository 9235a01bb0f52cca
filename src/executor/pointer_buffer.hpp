// Room for the pointers of one step.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace rondo {

/// Pointers of one step; most plans have few operands, others spill to the heap once per thread.
class PointerBuffer {
 public:
  void** get(std::size_t n) {
    if (n <= small_.size()) return small_.data();
    thread_local std::vector<void*> large;
    if (large.size() < n) large.resize(n);
    return large.data();
  }

 private:
  std::array<void*, 32> small_;
};

}  // namespace rondo
