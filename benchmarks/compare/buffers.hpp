// A rank's user buffers: where input and output of each operation lie in them, and whether a result is right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "compare/element.hpp"
#include "compare/protocol.hpp"
#include "support/uneven.hpp"

namespace compare {

/// Elements of a rank's input and output: equal, or one block of the other.
struct Extent {
  std::size_t block;  ///< what MPI calls the count
  std::size_t input;
  std::size_t output;
};

inline Extent extent_of(const Case& what, std::uint32_t ranks) {
  const std::size_t all = what.bytes / size_of(what.type);
  const std::size_t part = all / ranks;
  switch (what.operation) {
    case Operation::reduce_scatter:
    case Operation::scatter:
      return {part, part * ranks, part};
    case Operation::all_gather:
    case Operation::gather:
      return {part, part, part * ranks};
    case Operation::all_to_all:
    case Operation::all_to_all_v:
      return {part, part * ranks, part * ranks};
    case Operation::barrier:
      return {0, 0, 0};
    default:
      return {all, all, all};
  }
}

/// Where a rank's buffers come from.
using Memory = std::shared_ptr<void>;
using Allocator = std::function<Memory(std::size_t)>;

inline Memory plain_memory(std::size_t bytes) {
  Memory memory(std::malloc(bytes), std::free);
  if (memory == nullptr) std::abort();
  return memory;
}

/// Two buffers that grow as needed. Their pages are there before anything is timed. Aligned ones begin with a cache line; large ones of malloc's
/// begin 16 bytes behind one. In place, input and output
/// both lie in the second: equal, or the smaller one as the rank's own block of the larger.
class Buffers {
 public:
  explicit Buffers(Allocator allocator) : allocator_(std::move(allocator)) {}

  void reserve(const Case& what) {
    const std::size_t bytes = std::max<std::size_t>(what.bytes, line);
    if (bytes <= bytes_ && aligned_ == (what.aligned != 0)) return;
    release();
    aligned_ = what.aligned != 0;
    first_ = allocate(bytes);
    second_ = allocate(bytes);
    bytes_ = bytes;
  }

  void release() {
    first_ = second_ = nullptr;
    bytes_ = 0;
  }

  void* input(const Case& what, std::uint32_t rank, std::uint32_t ranks) const {
    if (what.in_place == 0) return first_.get();
    const Extent extent = extent_of(what, ranks);
    return static_cast<std::byte*>(second_.get()) + (extent.input < extent.output ? rank * extent.block * size_of(what.type) : 0);
  }

  void* output(const Case& what, std::uint32_t rank, std::uint32_t ranks) const {
    const Extent extent = extent_of(what, ranks);
    return static_cast<std::byte*>(second_.get()) + (what.in_place != 0 && extent.output < extent.input ? rank * extent.block * size_of(what.type) : 0);
  }

 private:
  Memory allocate(std::size_t bytes) const {
    const std::size_t room = bytes + (aligned_ ? line - 1 : 0);
    Memory memory = allocator_(room);
    for (std::size_t i = 0; i < room; i += 4096) static_cast<std::byte*>(memory.get())[i] = std::byte{0};
    const std::size_t behind = reinterpret_cast<std::uintptr_t>(memory.get()) % line;
    return aligned_ && behind != 0 ? Memory(memory, static_cast<std::byte*>(memory.get()) + line - behind) : memory;
  }

  static constexpr std::size_t line = 64;

  Allocator allocator_;
  Memory first_;
  Memory second_;
  std::size_t bytes_ = 0;
  bool aligned_ = false;
};

inline void fill(Type type, void* input, std::size_t count, std::uint32_t rank) {
  for (std::size_t i = 0; i < count; ++i) store(type, input, i, contribution(type, rank, i));
}

/// What element `i` of a rank's output must be. Root of rooted operations: 0.
inline float expected(const Case& what, std::size_t i, std::uint32_t rank, std::uint32_t ranks) {
  const std::size_t block = extent_of(what, ranks).block;
  const auto sender = [&] { return static_cast<std::uint32_t>(i / block); };
  switch (what.operation) {
    case Operation::broadcast:
      return contribution(what.type, 0, i);
    case Operation::all_gather:
    case Operation::gather:
      return contribution(what.type, sender(), i % block);
    case Operation::all_to_all:
      return contribution(what.type, sender(), rank * block + i % block);
    case Operation::scatter:
      return contribution(what.type, 0, rank * block + i);
    case Operation::send_recv:
      return contribution(what.type, (rank + ranks - 1) % ranks, i);
    default: {
      const std::size_t at = what.operation == Operation::reduce_scatter ? rank * block + i : i;
      const std::uint32_t last = what.operation == Operation::scan ? rank : ranks - 1;
      float sum = 0;
      for (std::uint32_t r = 0; r <= last; ++r) sum += contribution(what.type, r, at);
      return sum;
    }
  }
}

/// Elements of `output` that differ from what the operation must give. Root of rooted operations: 0.
inline std::uint64_t count_wrong(const Case& what, const void* output, std::uint32_t rank, std::uint32_t ranks) {
  if ((what.operation == Operation::reduce || what.operation == Operation::gather) && rank != 0) return 0;
  std::uint64_t wrong = 0;
  if (what.operation == Operation::all_to_all_v) {
    const std::size_t block = extent_of(what, ranks).block;
    const auto own = bench_support::uneven_blocks<std::size_t>(block, rank, ranks);
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const std::size_t origin = bench_support::uneven_blocks<std::size_t>(block, from, ranks).sent_at[rank];
      for (std::size_t i = 0; i < own.received[from]; ++i)
        wrong += load(what.type, output, own.received_at[from] + i) == contribution(what.type, from, origin + i) ? 0 : 1;
    }
    return wrong;
  }
  for (std::size_t i = 0; i < extent_of(what, ranks).output; ++i) wrong += load(what.type, output, i) == expected(what, i, rank, ranks) ? 0 : 1;
  return wrong;
}

}  // namespace compare
