// Conversions of f32 to and from shorter floating formats, in integer arithmetic. Hosts use them; GPUs have instructions that give the same bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/host_device.hpp"

namespace rondo::cuda {

/// The magnitude of an f32, rounded to nearest even, in a format of that many bits of exponent and fraction, as if its exponent had no upper end:
/// what is too large is told by the result, which is then at least the pattern of infinity. Not for NaNs and infinities.
template <unsigned exponent_bits, unsigned fraction_bits>
RONDO_HD inline std::uint32_t rounded_magnitude(std::uint32_t magnitude) {
  constexpr std::uint32_t bias_step = 127u - ((1u << (exponent_bits - 1)) - 1);
  constexpr std::uint32_t dropped = 23 - fraction_bits;
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent > bias_step) {  // normal there, too
    const std::uint32_t odd = magnitude >> dropped & 1;
    return (magnitude - (bias_step << 23) + ((1u << (dropped - 1)) - 1) + odd) >> dropped;
  }
  // A multiple of the format's smallest number: the fraction, with its leading one, moves down by what the exponent lacks.
  const std::uint32_t fraction = (magnitude & 0x7FFFFF) | (exponent != 0 ? 0x800000u : 0u);
  const std::uint32_t down = dropped + bias_step + 1 - (exponent != 0 ? exponent : 1u);
  if (down > 24) return 0;  // below half of that number
  const std::uint32_t whole = fraction >> down, rest = fraction & ((1u << down) - 1), half = 1u << (down - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1u : 0u);
}

/// The f32 of a finite magnitude in such a format.
template <unsigned exponent_bits, unsigned fraction_bits>
RONDO_HD inline std::uint32_t widened_magnitude(std::uint32_t magnitude) {
  constexpr std::uint32_t bias_step = 127u - ((1u << (exponent_bits - 1)) - 1);
  std::uint32_t exponent = magnitude >> fraction_bits, fraction = magnitude & ((1u << fraction_bits) - 1);
  if (exponent == 0) {
    if (fraction == 0) return 0;
    exponent = 1;
    for (; (fraction >> fraction_bits) == 0; fraction <<= 1) --exponent;  // may wrap below 0; the sum with bias_step is right again
    fraction &= (1u << fraction_bits) - 1;
  }
  return (exponent + bias_step) << 23 | fraction << (23 - fraction_bits);
}

namespace software {

RONDO_HD inline std::uint16_t f16_of(std::uint32_t bits) {
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return 0x7FFF;  // as the instruction has it
  std::uint32_t result = magnitude == 0x7F800000 ? 0x7C00u : rounded_magnitude<5, 10>(magnitude);
  if (result > 0x7C00) result = 0x7C00;
  return static_cast<std::uint16_t>(sign | result);
}

RONDO_HD inline std::uint32_t of_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00) return sign | 0x7F800000 | (magnitude > 0x7C00 ? 0x400000u : 0u) | (magnitude & 0x3FF) << 13;
  return sign | widened_magnitude<5, 10>(magnitude);
}

RONDO_HD inline std::uint16_t bf16_of(std::uint32_t bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;  // as the instruction has it
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// A byte with that many bits of exponent and fraction. A NaN is all ones; too large a number, and infinity, becomes the largest finite one, of its sign.
template <unsigned exponent_bits, unsigned fraction_bits>
RONDO_HD inline std::uint8_t saturated(std::uint32_t bits, std::uint32_t largest) {
  const std::uint32_t sign = bits >> 24 & 0x80, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return 0x7F;
  std::uint32_t result = magnitude == 0x7F800000 ? largest : rounded_magnitude<exponent_bits, fraction_bits>(magnitude);
  if (result > largest) result = largest;
  return static_cast<std::uint8_t>(sign | result);
}

/// e4m3 has no infinity, and its only NaN is all ones. The largest number is 448.
RONDO_HD inline std::uint8_t e4m3_of(std::uint32_t bits) { return saturated<4, 3>(bits, 0x7E); }

RONDO_HD inline std::uint32_t of_e4m3(std::uint8_t byte) {
  const std::uint32_t sign = static_cast<std::uint32_t>(byte & 0x80) << 24, magnitude = byte & 0x7Fu;
  return magnitude == 0x7F ? sign | 0x7FC00000u : sign | widened_magnitude<4, 3>(magnitude);
}

/// The largest number is 57344.
RONDO_HD inline std::uint8_t e5m2_of(std::uint32_t bits) { return saturated<5, 2>(bits, 0x7B); }

/// e5m2 is the upper half of f16.
RONDO_HD inline std::uint32_t of_e5m2(std::uint8_t byte) { return of_f16(static_cast<std::uint16_t>(byte << 8)); }

}  // namespace software
}  // namespace rondo::cuda
