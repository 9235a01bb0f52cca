// The kernels' arithmetic, one element at a time, written without regard to speed and without the kernels' tricks.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rondo/types.hpp"

namespace reference {

/// A 16-bit floating format by its shape. The sign is the top bit.
template <int exponent_bits, int fraction_bits>
struct Format {
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int top = (1 << exponent_bits) - 1;

  static double decode(std::uint16_t bits) {
    const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
    const int exponent = (bits >> fraction_bits) & top;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    if (exponent == top)
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  }

  /// To nearest even. Any NaN gives one NaN.
  static std::uint16_t encode(double value) {
    const int sign = std::signbit(value) ? 1 << 15 : 0;
    const int infinity = top << fraction_bits;
    if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | 1);
    if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
    if (value == 0) return static_cast<std::uint16_t>(sign);
    int exponent = std::ilogb(value);
    if (exponent < 1 - bias) exponent = 1 - bias;
    // In units of the last place; std::nearbyint rounds to nearest even. A carry runs into the exponent as it should.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(value), fraction_bits - exponent)));
    const int bits = ((exponent + bias - 1) << fraction_bits) + units;
    return static_cast<std::uint16_t>(sign | (bits < infinity ? bits : infinity));
  }
};

using F16 = Format<5, 10>;
using Bf16 = Format<8, 7>;

/// One element type: how it is stored, the type it is combined in, and the ways between.
template <class Stored, class CombinedType>
struct Plain {
  using Element = Stored;
  using Combined = CombinedType;
  static Combined widen(Element element) { return element; }
  static Element narrow(Combined value) { return value; }
};

template <class Shape>
struct Halved {
  using Element = std::uint16_t;
  using Combined = float;
  static Combined widen(Element element) { return static_cast<float>(Shape::decode(element)); }
  static Element narrow(Combined value) { return Shape::encode(value); }
};

template <class T>
T wrapped(std::uint64_t value) {
  return static_cast<T>(value);
}

/// a op b; integers wrap, a NaN stays.
template <class T>
T combine(rondo::ReduceOp op, T a, T b) {
  using rondo::ReduceOp;
  if constexpr (std::is_floating_point_v<T>) {
    volatile T result = 0;  // rounded here, whatever follows
    if (op == ReduceOp::prod)
      result = a * b;
    else if (op != ReduceOp::min && op != ReduceOp::max)
      result = a + b;
    else if (std::isnan(a) || std::isnan(b))
      result = std::numeric_limits<T>::quiet_NaN();
    else if (op == ReduceOp::min)
      result = a < b ? a : b;
    else
      result = a > b ? a : b;
    return result;
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    switch (op) {
      case ReduceOp::prod:
        return wrapped<T>(x * y);
      case ReduceOp::min:
        return a < b ? a : b;
      case ReduceOp::max:
        return a > b ? a : b;
      case ReduceOp::band:
        return wrapped<T>(x & y);
      case ReduceOp::bor:
        return wrapped<T>(x | y);
      case ReduceOp::bxor:
        return wrapped<T>(x ^ y);
      default:
        return wrapped<T>(x + y);
    }
  }
}

template <class T>
T scale(T value, double factor, std::int64_t integer_factor) {
  if constexpr (std::is_floating_point_v<T>) {
    volatile T result = value * static_cast<T>(factor);
    return result;
  } else {
    return wrapped<T>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(integer_factor));
  }
}

template <class T>
T divide(T value, std::uint32_t divisor) {
  if (divisor == 0) return value;
  if constexpr (std::is_floating_point_v<T>) {
    volatile T result = value / static_cast<T>(divisor);
    return result;
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(divisor));
  }
}

}  // namespace reference
