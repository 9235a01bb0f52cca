#include "gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "support/median.hpp"

namespace bench_cuda {
namespace {

/// Other ranks' threads may go on: nothing that they use may be taken down.
[[noreturn]] void end() {
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "bench_cuda: %s: %s\n", what, cudaGetErrorString(status));
  end();
}

void must(const rondo::Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "bench_cuda: %s\n", to_string(result.error()).c_str());
  end();
}

Buffer::Buffer(std::uint64_t bytes) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, bytes), "taking GPU memory");
  memory_.reset(memory);
  // Small numbers in every type: random bits would be infinities and NaNs in some.
  static const std::vector<float> some = [] {
    std::mt19937 random(1);
    std::vector<float> values(1u << 20);
    for (float& value : values) value = static_cast<float>(random() % 1000) / 256.0f;
    return values;
  }();
  for (std::uint64_t at = 0; at < bytes; at += some.size() * 4)
    must(cudaMemcpy(data() + at, some.data(), std::min<std::uint64_t>(some.size() * 4, bytes - at), cudaMemcpyHostToDevice), "filling GPU memory");
}

Stopwatch::Stopwatch() {
  must(cudaEventCreate(&begin_), "an event");
  must(cudaEventCreate(&end_), "an event");
}
Stopwatch::~Stopwatch() {
  (void)cudaEventDestroy(begin_);
  (void)cudaEventDestroy(end_);
}

double Stopwatch::microseconds() const {
  must(cudaEventSynchronize(end_), "waiting for an event");
  float milliseconds = 0;
  must(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading events");
  return 1e3 * static_cast<double>(milliseconds);
}

double median_us(std::uint32_t rounds, std::uint32_t repeats, cudaStream_t stream, const std::function<void(std::uint64_t)>& enqueue) {
  std::vector<double> times;
  std::uint64_t k = 0;
  Stopwatch watch;
  for (std::uint32_t round = 0; round <= rounds; ++round) {
    watch.start(stream);
    for (std::uint32_t i = 0; i < repeats; ++i) enqueue(k++);
    watch.stop(stream);
    const double taken = watch.microseconds() / repeats;
    if (round != 0) times.push_back(taken);
  }
  return bench_support::median(times);
}

double copy_bytes_per_s(std::uint64_t bytes) {
  const std::uint64_t sets = std::max<std::uint64_t>(1, rotated_bytes / (2 * bytes));
  const Buffer from(sets * bytes), to(sets * bytes);
  const double us = median_us(9, 8, nullptr, [&](std::uint64_t k) {
    const std::uint64_t at = k % sets * bytes;
    must(cudaMemcpyAsync(to.data() + at, from.data() + at, bytes, cudaMemcpyDeviceToDevice, nullptr), "copying");
  });
  return 2e6 * static_cast<double>(bytes) / us;
}

}  // namespace bench_cuda
