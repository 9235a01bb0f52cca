// Elements to and from f64.
#pragma once

#include <type_traits>

#include "kernels/cuda/element.hpp"

namespace rondo::cuda {

/// The f32 on either side of a number whose last bit is 1, unless it is an f32 itself: rounding that to a shorter type is rounding the number once
/// (Boldo, Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
RONDO_HD inline float rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const std::uint32_t bits = machine::bits_of(nearest);
  if (back == value || value != value || (bits & 1) != 0) return nearest;
  const bool beyond = value < 0 ? back < value : back > value;
  return machine::float_of(beyond ? bits - 1 : bits + 1);
}

template <class T>
RONDO_HD inline double to_double(T element) {
  return static_cast<double>(widen(element));
}

/// Rounded once, to nearest even.
template <class T>
RONDO_HD inline T from_double(double value) {
  if constexpr (is_short_float<T>) return narrow<T>(rounded_to_odd(value));
  else return static_cast<T>(value);
}

}  // namespace rondo::cuda
