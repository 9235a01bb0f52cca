// GPU memory, and how long what is enqueued takes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "rondo/result.hpp"

namespace bench_cuda {

/// Ends the program where CUDA or Rondo says no.
void must(cudaError_t status, const char* what);
void must(const rondo::Result<void>& result);

struct FreeDevice {
  void operator()(void* memory) const { (void)cudaFree(memory); }
};

/// Memory of the current GPU with bytes that aren't all alike.
class Buffer {
 public:
  explicit Buffer(std::uint64_t bytes);
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  std::unique_ptr<void, FreeDevice> memory_;
};

/// Times on a stream.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start(cudaStream_t stream) { must(cudaEventRecord(begin_, stream), "an event"); }
  void stop(cudaStream_t stream) { must(cudaEventRecord(end_, stream), "an event"); }
  /// Between the two, once both have come; waits.
  double microseconds() const;

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// The median of so many rounds of `repeats` calls of enqueue(k), k counting on, in µs a call; after one round that doesn't count.
double median_us(std::uint32_t rounds, std::uint32_t repeats, cudaStream_t stream, const std::function<void(std::uint64_t)>& enqueue);

/// What the GPU's own copy moves, bytes read and written in a second, through `bytes` at once and over so much memory that none of it stays in its cache.
double copy_bytes_per_s(std::uint64_t bytes);

/// So much memory is gone round that the L2 doesn't flatter.
inline constexpr std::uint64_t rotated_bytes = 512u << 20;

}  // namespace bench_cuda
