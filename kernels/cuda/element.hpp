// The element types: how each is stored, the type it is combined in, and the ways between the two.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/host_device.hpp"
#include "kernels/cuda/machine.hpp"
#include "rondo/types.hpp"

namespace rondo::cuda {

struct F16 {  ///< IEEE binary16
  std::uint16_t bits;
};
struct Bf16 {  ///< the upper half of f32
  std::uint16_t bits;
};
struct E4m3 {  ///< a wire type: fp8 without infinities (OCP 8-bit floating point specification, 2023)
  std::uint8_t bits;
};
struct E5m2 {  ///< a wire type: the upper half of f16
  std::uint8_t bits;
};

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, F16> || std::is_same_v<T, Bf16> || std::is_same_v<T, E4m3> || std::is_same_v<T, E5m2>;

/// The type that elements are combined in.
template <class T>
using Accumulator = std::conditional_t<is_short_float<T>, float, T>;

template <class T>
inline constexpr bool is_float = std::is_floating_point_v<Accumulator<T>>;

template <class T>
RONDO_HD inline Accumulator<T> widen(T element) {
  if constexpr (std::is_same_v<T, F16>) return machine::of_f16(element.bits);
  else if constexpr (std::is_same_v<T, Bf16>) return machine::float_of(static_cast<std::uint32_t>(element.bits) << 16);
  else if constexpr (std::is_same_v<T, E4m3>) return machine::of_e4m3(element.bits);
  else if constexpr (std::is_same_v<T, E5m2>) return machine::of_f16(static_cast<std::uint16_t>(element.bits << 8));
  else return element;
}

/// To nearest even; a NaN stays one. What is too large becomes infinity in f16 and bf16, and the largest finite number of its sign in both fp8 types: so do
/// infinities, as in NCCL's reductions and the GPU's own conversion (PyTorch's casts make a NaN or an infinity of it instead).
template <class T>
RONDO_HD inline T narrow(Accumulator<T> value) {
  if constexpr (std::is_same_v<T, F16>) return {machine::f16_of(value)};
  else if constexpr (std::is_same_v<T, Bf16>) return {machine::bf16_of(value)};
  else if constexpr (std::is_same_v<T, E4m3>) return {machine::e4m3_of(value)};
  else if constexpr (std::is_same_v<T, E5m2>) return {machine::e5m2_of(value)};
  else return value;
}

/// Calls body(T()), T the element type of that name.
template <class Body>
RONDO_HD inline void with_type(DataType type, const Body& body) {
  switch (type) {
    case DataType::i8: return body(std::int8_t());
    case DataType::u8: return body(std::uint8_t());
    case DataType::i16: return body(std::int16_t());
    case DataType::u16: return body(std::uint16_t());
    case DataType::i32: return body(std::int32_t());
    case DataType::u32: return body(std::uint32_t());
    case DataType::i64: return body(std::int64_t());
    case DataType::u64: return body(std::uint64_t());
    case DataType::f16: return body(F16());
    case DataType::bf16: return body(Bf16());
    case DataType::f32: return body(float());
    case DataType::f64: return body(double());
  }
}

}  // namespace rondo::cuda
