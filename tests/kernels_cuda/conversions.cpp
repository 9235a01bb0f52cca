// Conversions between f32 and shorter floating types, against arithmetic on doubles that knows a format by its shape.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cuda/element.hpp"
#include "support/catch.hpp"

namespace {

using namespace rondo::cuda;

/// A format's finite numbers by exponent and fraction; what lies beyond the largest becomes infinity, or that number.
struct Shape {
  int exponent_bits, fraction_bits;
  double largest;
  bool has_infinity, saturates;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double decode(unsigned bits) const {
    const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const int fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1);
    const double sign = (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -1 : 1;
    double value = exponent == 0 ? std::ldexp(fraction, 1 - bias() - fraction_bits)
                                 : std::ldexp((1 << fraction_bits) + fraction, exponent - bias() - fraction_bits);
    if (has_infinity && exponent == (1 << exponent_bits) - 1) value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    else if (value > largest) value = std::nan("");
    return sign * value;
  }
  /// The value that a number is rounded to.
  double rounded(double value) const {
    if (std::isnan(value) || value == 0) return value;
    if (std::isinf(value)) return saturates ? std::copysign(largest, value) : value;
    const int exponent = std::max(std::ilogb(value), 1 - bias());
    const double result = std::ldexp(std::nearbyint(std::ldexp(value, fraction_bits - exponent)), exponent - fraction_bits);
    if (std::fabs(result) <= largest) return result;
    return std::copysign(saturates ? largest : std::numeric_limits<double>::infinity(), value);
  }
};

const Shape f16_shape{5, 10, 65504, true, false};
const Shape bf16_shape{8, 7, std::ldexp(255.0, 120), true, false};
const Shape e4m3_shape{4, 3, 448, false, true};
const Shape e5m2_shape{5, 2, 57344, true, true};

template <class Body>
void for_each_format(const Body& body) {
  body(F16(), f16_shape);
  body(Bf16(), bf16_shape);
  body(E4m3(), e4m3_shape);
  body(E5m2(), e5m2_shape);
}

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)); }

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

TEST_CASE("every pattern of a short floating type is widened to the number it stands for, and comes back") {
  for_each_format([](auto element, const Shape& shape) {
    using T = decltype(element);
    for (unsigned bits = 0; bits < 1u << (8 * sizeof(T)); ++bits) {
      const T from{static_cast<decltype(T::bits)>(bits)};
      const double value = static_cast<double>(widen(from));
      if (!same(value, shape.decode(bits))) FAIL(bits << " is widened to " << value);
      const bool stays = !std::isnan(value) && !(shape.saturates && std::isinf(value));
      if (stays && narrow<T>(widen(from)).bits != bits) FAIL(bits << " comes back as " << +narrow<T>(widen(from)).bits);
      if (std::isnan(value) && !std::isnan(widen(narrow<T>(widen(from))))) FAIL(bits << " is a NaN no more");
    }
  });
}

TEST_CASE("numbers are rounded to the nearest of a short floating type, ties to even, down to its denormals and up to its end") {
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> patterns{0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF};
  for_each_format([&](auto element, const Shape&) {  // all numbers of the type, the middles between them, and what lies beside those
    using T = decltype(element);
    for (unsigned bits = 0; bits < 1u << (8 * sizeof(T)); ++bits) {
      const std::uint32_t here = bits_of(widen(T{static_cast<decltype(T::bits)>(bits)}));
      const float next = widen(T{static_cast<decltype(T::bits)>(bits + 1)});
      const std::uint32_t middle = bits_of((float_of(here) + next) / 2);
      for (const std::uint32_t pattern : {here, middle})
        for (const int beside : {-1, 0, 1}) patterns.push_back(pattern + static_cast<std::uint32_t>(beside));
    }
  });
  for (int i = 0; i < 1'000'000; ++i) patterns.push_back(static_cast<std::uint32_t>(random()));
  for (std::uint32_t i = 0; i < 1u << 16; ++i) patterns.push_back(i << 16), patterns.push_back(i << 16 | 0x8000), patterns.push_back(i << 16 | 0x7FFF);
  for_each_format([&](auto element, const Shape& shape) {
    using T = decltype(element);
    for (const std::uint32_t pattern : patterns)
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        const float value = float_of(pattern ^ sign);
        const double result = static_cast<double>(widen(narrow<T>(value)));
        if (!same(result, shape.rounded(static_cast<double>(value)))) FAIL(value << " (" << (pattern ^ sign) << ") becomes " << result);
      }
  });
}
