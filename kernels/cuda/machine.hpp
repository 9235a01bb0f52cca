// What a GPU has instructions for, and what a host does instead: accesses to memory, conversions, the end of a program with a bug.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cuda/host_device.hpp"
#include "kernels/cuda/software_floats.hpp"

namespace rondo::cuda::machine {

#if RONDO_ON_GPU
// Plain loads and not those of read-only memory: other GPUs write what is read here while the kernel runs, and say so by a flag. They clobber memory, so that
// the compiler moves neither them nor the stores over a wait or one another. Addresses are generic: operands of a tiny call lie in shared memory.

__device__ inline std::uint32_t load_byte(const void* at) {
  std::uint32_t value;
  asm volatile("ld.u8 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline std::uint32_t load_short(const void* at) {
  std::uint32_t value;
  asm volatile("ld.u16 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline std::uint32_t load_word(const void* at) {
  std::uint32_t value;
  asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ inline void load_two(const void* at, std::uint32_t* to) {
  asm volatile("ld.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(at) : "memory");
}
__device__ inline void load_four(const void* at, std::uint32_t* to) {
  asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(at)
               : "memory");
}
__device__ inline void store_byte(void* at, std::uint32_t value) { asm volatile("st.u8 [%0], %1;" ::"l"(at), "r"(value) : "memory"); }
__device__ inline void store_short(void* at, std::uint32_t value) { asm volatile("st.u16 [%0], %1;" ::"l"(at), "r"(value) : "memory"); }
__device__ inline void store_word(void* at, std::uint32_t value) { asm volatile("st.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory"); }
__device__ inline void store_two(void* at, const std::uint32_t* from) {
  asm volatile("st.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(from[0]), "r"(from[1]) : "memory");
}
__device__ inline void store_four(void* at, const std::uint32_t* from) {
  asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]) : "memory");
}

__device__ inline std::uint32_t bits_of(float value) { return __float_as_uint(value); }
__device__ inline float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
__device__ inline std::uint64_t bits_of(double value) { return static_cast<std::uint64_t>(__double_as_longlong(value)); }
__device__ inline double float_of(std::uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); }

__device__ inline std::uint16_t f16_of(float value) {
  std::uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
__device__ inline float of_f16(std::uint16_t half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}
__device__ inline std::uint16_t bf16_of(float value) {
  std::uint16_t half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
#if RONDO_GPU_HAS_FP8
__device__ inline std::uint8_t e4m3_of(float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<std::uint8_t>(pair);
}
__device__ inline std::uint8_t e5m2_of(float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<std::uint8_t>(pair);
}
__device__ inline float of_e4m3(std::uint8_t byte) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<std::uint16_t>(byte)));
  return of_f16(static_cast<std::uint16_t>(pair));
}
#else
__device__ inline std::uint8_t e4m3_of(float value) { return software::e4m3_of(bits_of(value)); }
__device__ inline std::uint8_t e5m2_of(float value) { return software::e5m2_of(bits_of(value)); }
__device__ inline float of_e4m3(std::uint8_t byte) { return float_of(software::of_e4m3(byte)); }
#endif

[[noreturn]] __device__ inline void give_up() {
  __trap();
  __builtin_unreachable();
}

#else

template <class T>
RONDO_HD inline T from_memory(const void* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}
RONDO_HD inline std::uint32_t load_byte(const void* at) { return from_memory<std::uint8_t>(at); }
RONDO_HD inline std::uint32_t load_short(const void* at) { return from_memory<std::uint16_t>(at); }
RONDO_HD inline std::uint32_t load_word(const void* at) { return from_memory<std::uint32_t>(at); }
RONDO_HD inline void load_two(const void* at, std::uint32_t* to) { memcpy(to, at, 8); }
RONDO_HD inline void load_four(const void* at, std::uint32_t* to) { memcpy(to, at, 16); }
RONDO_HD inline void store_byte(void* at, std::uint32_t value) { memcpy(at, &value, 1); }
RONDO_HD inline void store_short(void* at, std::uint32_t value) { memcpy(at, &value, 2); }
RONDO_HD inline void store_word(void* at, std::uint32_t value) { memcpy(at, &value, 4); }
RONDO_HD inline void store_two(void* at, const std::uint32_t* from) { memcpy(at, from, 8); }
RONDO_HD inline void store_four(void* at, const std::uint32_t* from) { memcpy(at, from, 16); }

RONDO_HD inline std::uint32_t bits_of(float value) { return from_memory<std::uint32_t>(&value); }
RONDO_HD inline float float_of(std::uint32_t bits) { return from_memory<float>(&bits); }
RONDO_HD inline std::uint64_t bits_of(double value) { return from_memory<std::uint64_t>(&value); }
RONDO_HD inline double float_of(std::uint64_t bits) { return from_memory<double>(&bits); }

RONDO_HD inline std::uint16_t f16_of(float value) { return software::f16_of(bits_of(value)); }
RONDO_HD inline float of_f16(std::uint16_t half) { return float_of(software::of_f16(half)); }
RONDO_HD inline std::uint16_t bf16_of(float value) { return software::bf16_of(bits_of(value)); }
RONDO_HD inline std::uint8_t e4m3_of(float value) { return software::e4m3_of(bits_of(value)); }
RONDO_HD inline std::uint8_t e5m2_of(float value) { return software::e5m2_of(bits_of(value)); }
RONDO_HD inline float of_e4m3(std::uint8_t byte) { return float_of(software::of_e4m3(byte)); }

[[noreturn]] RONDO_HD inline void give_up() { __builtin_trap(); }
#endif

}  // namespace rondo::cuda::machine
