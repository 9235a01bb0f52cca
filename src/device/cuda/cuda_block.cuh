// What Walk asks of a block, on a GPU. Words that other ranks see are read and written at the scope of the GPU or, where they have others, of the system, by
// PTX's memory model:
// a barrier of the block orders its threads' accesses before its leader's release, and that leader's acquire before what they do next.
#pragma once

#include <cstdint>

#include "device/shared.hpp"

namespace rondo::device {

class CudaBlock {
 public:
  /// `one_gpu`: no other GPU looks at the words.
  __device__ CudaBlock(Shared& shared, bool one_gpu) : shared_(shared), one_gpu_(one_gpu) {}

  __device__ Shared& shared() { return shared_; }
  __device__ unsigned thread() const { return threadIdx.x; }
  __device__ unsigned threads() const { return blockDim.x; }
  __device__ void sync() { __syncthreads(); }
  __device__ bool any(bool value) { return __syncthreads_or(value) != 0; }

  __device__ std::uint64_t load_acquire(const std::uint64_t* word) const {
    std::uint64_t value;
    if (one_gpu_) asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    else asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  __device__ std::uint64_t load_relaxed(const std::uint64_t* word) const {
    std::uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  __device__ void store_release(std::uint64_t* word, std::uint64_t value) {
    if (one_gpu_) asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    else asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }
  /// What the rank's kernels before did lies before it, since they have ended.
  __device__ void store_at_start(std::uint64_t* word, std::uint64_t value) { store_relaxed(word, value); }
  /// A release that the host sees, too.
  __device__ void tell_host(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }
  __device__ void store_relaxed(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }
  /// So that they are near when they are wanted.
  __device__ void bring_near(const std::byte* bytes) const {
    [[maybe_unused]] std::uint32_t nothing;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(nothing) : "l"(bytes));
  }
  /// 16 bytes as one: PTX ISA 8.3 and up, for sm_70 and up.
  __device__ Cell load_cell(const Cell* cell) const {
    Cell seen;
    asm volatile("{ .reg .b128 both; ld.relaxed.sys.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                 : "=l"(seen.payload), "=l"(seen.flag)
                 : "l"(cell)
                 : "memory");
    return seen;
  }
  __device__ void store_cell(Cell* cell, const Cell& value) {
    asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.b128 [%0], both; }" ::"l"(cell), "l"(value.payload), "l"(value.flag)
                 : "memory");
  }
  /// Whether this thread is the one that takes a word from 0 to `value`.
  __device__ bool claim(std::uint64_t* word, std::uint64_t value) {
    return atomicCAS_system(reinterpret_cast<unsigned long long*>(word), 0ull, static_cast<unsigned long long>(value)) == 0;
  }
  /// What the word was before.
  __device__ std::uint64_t add(std::uint64_t* word, std::uint64_t value) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
  }
  __device__ std::uint64_t now_ns() const {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  }
  /// Between two looks at a word; a wait that has lasted leaves the memory to others.
  __device__ void relax(std::uint32_t spin) const {
    if (spin > 1024) __nanosleep(200);
  }

 private:
  Shared& shared_;
  const bool one_gpu_;
};

}  // namespace rondo::device
