// The reductions on accumulators, and on words of elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/element.hpp"
#include "kernels/cuda/pack.hpp"
#include "rondo/kernels.hpp"

namespace rondo::cuda {

/// Unsigned and at least as wide as int, so that sums and products wrap and nothing is promoted to int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class A>
RONDO_HD inline A product(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) return a * b;
  else return static_cast<A>(static_cast<Wrapping<A>>(a) * static_cast<Wrapping<A>>(b));
}

struct Sum {
  template <class A>
  static RONDO_HD inline A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) return a + b;
    else return static_cast<A>(static_cast<Wrapping<A>>(a) + static_cast<Wrapping<A>>(b));
  }
  /// Several elements that share a word: all but their top bits are added, where no carry leaves an element, and the top bits without carry.
  template <class T>
  static RONDO_HD inline std::uint32_t apply_to_word(std::uint32_t a, std::uint32_t b) {
    constexpr std::uint32_t top = sizeof(T) == 1 ? 0x80808080u : 0x80008000u;
    return ((a & ~top) + (b & ~top)) ^ ((a ^ b) & top);
  }
};

/// An operation on words of short integers, an element at a time.
template <class Operation>
struct ElementByElement {
  template <class T>
  static RONDO_HD inline std::uint32_t apply_to_word(std::uint32_t a, std::uint32_t b) {
    std::uint32_t result = 0;
    RONDO_UNROLL
    for (unsigned e = 0; e < elements_in_word<T>; ++e) result |= in_place<T>(Operation::apply(element_of<T>(a, e), element_of<T>(b, e)), e);
    return result;
  }
};

struct Prod : ElementByElement<Prod> {
  template <class A>
  static RONDO_HD inline A apply(A a, A b) {
    return product(a, b);
  }
};

/// A NaN in either gives a NaN. Of two zeros the second, as processors of the x86 family have it.
struct Min : ElementByElement<Min> {
  template <class A>
  static RONDO_HD inline A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) return a < b || a != a ? a : b;
    else return a < b ? a : b;
  }
};

struct Max : ElementByElement<Max> {
  template <class A>
  static RONDO_HD inline A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) return a > b || a != a ? a : b;
    else return a > b ? a : b;
  }
};

/// The bit operations know no elements.
struct BitAnd {
  template <class T>
  static RONDO_HD inline std::uint32_t apply_to_word(std::uint32_t a, std::uint32_t b) {
    return a & b;
  }
};
struct BitOr {
  template <class T>
  static RONDO_HD inline std::uint32_t apply_to_word(std::uint32_t a, std::uint32_t b) {
    return a | b;
  }
};
struct BitXor {
  template <class T>
  static RONDO_HD inline std::uint32_t apply_to_word(std::uint32_t a, std::uint32_t b) {
    return a ^ b;
  }
};

/// A word's elements as they are combined: short integers stay in their word, one register for several.
template <class T>
inline constexpr bool stays_in_word = sizeof(T) < 4 && !is_float<T>;

template <class T>
struct Wide {
  std::conditional_t<stays_in_word<T>, std::uint32_t, Accumulator<T>> values[stays_in_word<T> ? 1 : elements_in_word<T>];
};

template <class T>
RONDO_HD inline Wide<T> widen_word(Word<T> word) {
  Wide<T> wide;
  if constexpr (stays_in_word<T>) {
    wide.values[0] = word;
  } else {
    RONDO_UNROLL
    for (unsigned e = 0; e < elements_in_word<T>; ++e) wide.values[e] = widen(element_of<T>(word, e));
  }
  return wide;
}

template <class T>
RONDO_HD inline Word<T> narrow_word(const Wide<T>& wide) {
  if constexpr (stays_in_word<T>) {
    return wide.values[0];
  } else {
    Word<T> word = 0;
    RONDO_UNROLL
    for (unsigned e = 0; e < elements_in_word<T>; ++e) word |= in_place<T>(narrow<T>(wide.values[e]), e);
    return word;
  }
}

/// One operation on words of one type: what the loops over memory are made of.
template <class T, class Operation>
class Combining {
 public:
  using Element = T;
  static constexpr bool is_frequent = std::is_same_v<Operation, Sum>;
  static constexpr bool takes_words = !stays_in_word<T> || !std::is_base_of_v<ElementByElement<Operation>, Operation>;

  RONDO_HD explicit Combining(const KernelCall&) {}

  RONDO_HD Wide<T> widen(Word<T> word, std::uint32_t /*source*/) const { return widen_word<T>(word); }
  RONDO_HD Word<T> narrow(const Wide<T>& wide) const { return narrow_word<T>(wide); }
  RONDO_HD Wide<T> combine(const Wide<T>& a, const Wide<T>& b) const {
    Wide<T> result;
    if constexpr (stays_in_word<T>) {
      result.values[0] = Operation::template apply_to_word<T>(a.values[0], b.values[0]);
    } else {
      RONDO_UNROLL
      for (unsigned e = 0; e < elements_in_word<T>; ++e) result.values[e] = Operation::apply(a.values[e], b.values[e]);
    }
    return result;
  }
};

/// A sum of sources of which some are scaled first, and which is divided in the end.
template <class T>
class ScaledSum : public Combining<T, Sum> {
 public:
  static constexpr bool is_frequent = is_float<T>;
  static constexpr bool takes_words = !stays_in_word<T>;

  RONDO_HD explicit ScaledSum(const KernelCall& call) : Combining<T, Sum>(call), scaled_(call.scaled_sources), divisor_(call.divisor) {
    if constexpr (is_float<T>) factor_ = static_cast<Accumulator<T>>(call.scale);
    else factor_ = static_cast<T>(call.integer_scale);
  }

  RONDO_HD Wide<T> widen(Word<T> word, std::uint32_t source) const {
    Wide<T> wide = widen_word<T>(word);
    if (source >= 64 || (scaled_ >> source & 1) == 0) return wide;
    if constexpr (stays_in_word<T>) {
      wide.values[0] = each(word, [this](T element) { return product<T>(element, factor_); });
    } else {
      RONDO_UNROLL
      for (auto& value : wide.values) value = rondo::cuda::widen(rondo::cuda::narrow<T>(product(value, factor_)));
    }
    return wide;
  }

  RONDO_HD Word<T> narrow(Wide<T> wide) const {
    if (divisor_ == 0) return narrow_word<T>(wide);
    if constexpr (stays_in_word<T>) {
      return each(wide.values[0], [this](T element) { return quotient(element); });
    } else {
      RONDO_UNROLL
      for (auto& value : wide.values) value = quotient(value);
      return narrow_word<T>(wide);
    }
  }

 private:
  template <class Function>
  RONDO_HD static std::uint32_t each(std::uint32_t word, const Function& function) {
    std::uint32_t result = 0;
    RONDO_UNROLL
    for (unsigned e = 0; e < elements_in_word<T>; ++e) result |= in_place<T>(function(element_of<T>(word, e)), e);
    return result;
  }

  /// Integers: towards zero.
  RONDO_HD Accumulator<T> quotient(Accumulator<T> value) const {
    using A = Accumulator<T>;
    if constexpr (is_float<T>) {
      return value / static_cast<A>(divisor_);
    } else if constexpr (sizeof(T) == 8) {
      return value / static_cast<A>(divisor_);
    } else if constexpr (std::is_signed_v<T>) {  // a division of 32 bits is a third of one of 64
      const std::uint32_t bits = static_cast<std::uint32_t>(value);
      const std::uint32_t magnitude = (value < 0 ? 0u - bits : bits) / divisor_;
      return static_cast<A>(value < 0 ? 0u - magnitude : magnitude);
    } else {
      return static_cast<A>(value / divisor_);
    }
  }

  std::uint64_t scaled_;
  std::uint32_t divisor_;
  Accumulator<T> factor_;
};

}  // namespace rondo::cuda
