// Division of many integers by one: avg of integers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rondo::kernels {

/// x / divisor, truncated towards zero, for one divisor ≥ 1 and many x.
template <class T>
class Divider {
 public:
  explicit Divider(std::uint32_t divisor) : divisor_(divisor), reciprocal_(~std::uint64_t{0} / divisor + 1) {}

  T operator()(T x) const {
    if constexpr (sizeof(T) == 8) {
      return static_cast<T>(x / static_cast<T>(divisor_));
    } else if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(x);
      const auto quotient = static_cast<std::int64_t>(magnitude(static_cast<std::uint64_t>(wide < 0 ? -wide : wide)));
      return static_cast<T>(wide < 0 ? -quotient : quotient);
    } else {
      return static_cast<T>(magnitude(x));
    }
  }

 private:
  /// Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019: exact for 32-bit x with a 64-bit reciprocal.
  std::uint64_t magnitude(std::uint64_t x) const {
    __extension__ using Wide = unsigned __int128;
    if (divisor_ == 1) return x;  // its reciprocal, 2^64, has no room
    return static_cast<std::uint64_t>((static_cast<Wide>(reciprocal_) * x) >> 64);
  }

  std::uint32_t divisor_;
  std::uint64_t reciprocal_;  ///< 2^64 / divisor, rounded up
};

}  // namespace rondo::kernels
