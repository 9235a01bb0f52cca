// The reductions on one vector. Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_OPERATIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_OPERATIONS_INL
#undef RONDO_KERNELS_CPU_OPERATIONS_INL
#else
#define RONDO_KERNELS_CPU_OPERATIONS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a · b, of integers modulo 2^bits.
template <class D, class V>
HWY_INLINE V multiply(D d, V a, V b) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_floating_point_v<T>) {
    return hn::Mul(a, b);
  } else if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::Set(
        d, static_cast<T>(static_cast<std::uint64_t>(hn::GetLane(a)) * static_cast<std::uint64_t>(hn::GetLane(b))));
  } else if constexpr (sizeof(T) == 1) {
    // No instruction set multiplies bytes: even and odd ones apart, in 16-bit lanes.
    const hn::Repartition<std::uint16_t, D> pairs;
    const auto x = hn::BitCast(pairs, a);
    const auto y = hn::BitCast(pairs, b);
    const auto even = hn::And(hn::Mul(x, y), hn::Set(pairs, std::uint16_t{0x00FF}));
    const auto odd = hn::Mul(hn::ShiftRight<8>(x), hn::And(y, hn::Set(pairs, std::uint16_t{0xFF00})));
    return hn::BitCast(d, hn::Or(even, odd));
  } else {
    return hn::Mul(a, b);
  }
}

/// `chosen`, one of a and b, unless one of them is a NaN: then that one.
template <class V>
HWY_INLINE V or_nan(V a, V b, V chosen) {
#if !HWY_ARCH_X86 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  chosen = hn::IfThenElse(hn::IsNaN(b), b, chosen);
#else
  (void)b;  // x86's minimum and maximum give the second operand where either is a NaN
#endif
  return hn::IfThenElse(hn::IsNaN(a), a, chosen);
}

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Prod {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return multiply(d, a, b);
  }
};

struct Min {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) return or_nan(a, b, hn::Min(a, b));
    return hn::Min(a, b);
  }
};

struct Max {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) return or_nan(a, b, hn::Max(a, b));
    return hn::Max(a, b);
  }
};

struct BitAnd {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::And(a, b);
  }
};

struct BitOr {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Or(a, b);
  }
};

struct BitXor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Xor(a, b);
  }
};

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
