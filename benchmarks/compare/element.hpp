// The numbers in the buffers: whole numbers so small that every sum of them is exact in either type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "compare/protocol.hpp"

namespace compare {

/// bf16 is the upper half of an f32; of a small whole number the lower half is zero.
inline std::uint16_t to_bf16(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }
inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// Element `index` of a buffer, whatever its type.
inline float load(Type type, const void* buffer, std::size_t index) {
  if (type == Type::f32) return static_cast<const float*>(buffer)[index];
  return from_bf16(static_cast<const std::uint16_t*>(buffer)[index]);
}

inline void store(Type type, void* buffer, std::size_t index, float value) {
  if (type == Type::f32) {
    static_cast<float*>(buffer)[index] = value;
  } else {
    static_cast<std::uint16_t*>(buffer)[index] = to_bf16(value);
  }
}

/// All elements of a buffer become `value`.
inline void set_all(Type type, void* buffer, std::size_t count, float value) {
  if (type == Type::f32) {
    std::fill_n(static_cast<float*>(buffer), count, value);
  } else {
    std::fill_n(static_cast<std::uint16_t*>(buffer), count, to_bf16(value));
  }
}

/// The value that a rank contributes at a position of its input. bf16 holds whole numbers up to 256: 8 ranks times 31 stay below.
inline float contribution(Type type, std::uint32_t rank, std::size_t position) {
  return static_cast<float>((position % 1021 * 31 + rank * 17) % (type == Type::f32 ? 64 : 32));
}

}  // namespace compare
