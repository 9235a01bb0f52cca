// 16-bit floating formats to and from pairs of f32 vectors. Every instruction set gives the same bits: rounding is to
// nearest even, denormals are kept, NaNs stay NaNs and become quiet. Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_HALVES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_HALVES_INL
#undef RONDO_KERNELS_CPU_HALVES_INL
#else
#define RONDO_KERNELS_CPU_HALVES_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// L 16-bit elements as f32. With one element, `second` repeats `first` and isn't stored.
template <std::size_t L>
struct Pair {
  using Tag = hn::CappedTag<float, L == 1 ? 1 : L / 2>;
  hn::Vec<Tag> first, second;
};

/// bf16 is the upper half of f32. A vector of pairs needs no shuffle: the even elements are shifted up, the odd ones
/// masked.
struct Bf16 {
  template <std::size_t L>
  static HWY_INLINE Pair<L> load(const std::uint16_t* from) {
    const typename Pair<L>::Tag floats;
    const hn::RebindToUnsigned<decltype(floats)> words;
    if constexpr (L == 1) {
      const auto only = hn::BitCast(floats, hn::Set(words, static_cast<std::uint32_t>(*from) << 16));
      return {only, only};
    } else {
      const auto both = hn::BitCast(words, hn::LoadU(hn::CappedTag<std::uint16_t, L>(), from));
      return {hn::BitCast(floats, hn::ShiftLeft<16>(both)),
              hn::BitCast(floats, hn::And(both, hn::Set(words, 0xFFFF0000u)))};
    }
  }

  /// Rounds without a look at NaNs: one here comes from a bf16 source or is the processor's own, and neither has bits
  /// in its lower half that could carry.
  template <bool streamed, std::size_t L>
  static HWY_INLINE void store(Pair<L> value, std::uint16_t* to) {
    const hn::RebindToUnsigned<typename Pair<L>::Tag> words;
    const auto even = hn::BitCast(words, value.first);
    if constexpr (L == 1) {
      const std::uint32_t bits = hn::GetLane(even);
      *to = static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
    } else {
      const hn::CappedTag<std::uint16_t, L> halves;
      const auto odd = hn::BitCast(words, value.second);
      const auto upper = hn::OddEven(hn::BitCast(halves, odd), hn::BitCast(halves, hn::ShiftRight<16>(even)));
      const auto lower = hn::OddEven(hn::BitCast(halves, hn::ShiftLeft<16>(odd)), hn::BitCast(halves, even));
      // Up when the lower half is above its middle, or on it and the upper half is odd: the carry of a sum with 0x7FFF,
      // which the rounded average keeps as its top bit.
      const auto sticky = hn::Or(lower, hn::And(upper, hn::Set(halves, std::uint16_t{1})));
      const auto up = hn::ShiftRight<15>(hn::AverageRound(sticky, hn::Set(halves, std::uint16_t{0x7FFE})));
      const auto both = hn::Add(upper, up);
      if constexpr (streamed)
        hn::Stream(both, halves, to);
      else
        hn::StoreU(both, halves, to);
    }
  }
};

/// IEEE binary16. The first half of the elements lies in `first`.
struct F16 {
  template <std::size_t L>
  static HWY_INLINE Pair<L> load(const std::uint16_t* from) {
    const typename Pair<L>::Tag floats;
    const hn::Rebind<std::uint16_t, decltype(floats)> halves;
    const auto first = widen(floats, hn::LoadU(halves, from));
    if constexpr (L == 1)
      return {first, first};
    else
      return {first, widen(floats, hn::LoadU(halves, from + L / 2))};
  }

  template <bool streamed, std::size_t L>
  static HWY_INLINE void store(Pair<L> value, std::uint16_t* to) {
    const typename Pair<L>::Tag floats;
    const hn::Rebind<std::uint16_t, decltype(floats)> halves;
    const auto first = narrow(floats, value.first);
    if constexpr (L == 1) {
      hn::StoreU(first, halves, to);
#if HWY_TARGET != HWY_SCALAR  // which has no pairs, and no Combine
    } else if constexpr (streamed) {
      const hn::CappedTag<std::uint16_t, L> both;
      hn::Stream(hn::Combine(both, narrow(floats, value.second), first), both, to);
#endif
    } else {
      hn::StoreU(first, halves, to);
      hn::StoreU(narrow(floats, value.second), halves, to + L / 2);
    }
  }

// One vector. Highway's emulation of the conversions isn't used: it doesn't round to nearest even everywhere.
#if HWY_ARCH_ARM_A64 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C))
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D floats, hn::Vec<hn::Rebind<std::uint16_t, D>> halves) {
    return hn::PromoteTo(floats, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), halves));
  }

  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D, hn::Vec<D> value) {
    return hn::BitCast(hn::Rebind<std::uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
  }
#else
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D floats, hn::Vec<hn::Rebind<std::uint16_t, D>> halves) {
    const hn::RebindToUnsigned<D> words;
    const auto half = hn::PromoteTo(words, halves);
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(words, 0x8000u)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(words, 0x7FFFu)));
    const auto exponent = hn::And(magnitude, hn::Set(words, 0x0F800000u));
    const auto normal = hn::Add(magnitude, hn::Set(words, 112u << 23));  // from exponent bias 15 to 127
    const auto special = hn::Add(normal, hn::Set(words, 112u << 23));    // infinity and NaN: to the top exponent
    const auto quiet = hn::Or(special, hn::Set(words, 0x00400000u));
    // A denormal is m · 2^-24: give it the exponent of 2^-14 and subtract 2^-14, which is exact.
    const auto offset = hn::Set(words, 113u << 23);
    const auto tiny =
        hn::BitCast(words, hn::Sub(hn::BitCast(floats, hn::Add(magnitude, offset)), hn::BitCast(floats, offset)));
    auto result = hn::IfThenElse(hn::Eq(exponent, hn::Zero(words)), tiny, normal);
    result = hn::IfThenElse(hn::Eq(exponent, hn::Set(words, 0x0F800000u)), special, result);
    result = hn::IfThenElse(signed_greater(words, magnitude, 0x0F800000u), quiet, result);
    return hn::BitCast(floats, hn::Or(result, sign));
  }

  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D floats, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> words;
    const auto bits = hn::BitCast(words, value);
    const auto magnitude = hn::And(bits, hn::Set(words, 0x7FFFFFFFu));
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1u));
    // From exponent bias 127 to 15, plus half a unit in the last place.
    const auto bias = hn::Set(words, 0xC8000FFFu);
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, odd), bias));
    // Below 2^-14 the unit is 2^-24, which is the unit of 0.5 in f32: adding 0.5 rounds.
    const auto half = hn::Set(words, 0x3F000000u);
    const auto tiny =
        hn::Sub(hn::BitCast(words, hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, half))), half);
    const auto payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 0x03FFu));
    const auto nan = hn::Or(payload, hn::Set(words, 0x7E00u));
    auto result = hn::IfThenElse(signed_greater(words, magnitude, 0x387FFFFFu), normal, tiny);
    result = hn::IfThenElse(signed_greater(words, magnitude, 0x477FFFFFu), hn::Set(words, 0x7C00u), result);
    result = hn::IfThenElse(signed_greater(words, magnitude, 0x7F800000u), nan, result);
    const hn::RebindToSigned<D> integers;
    return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(), hn::BitCast(integers, hn::Or(result, sign)));
  }

 private:
  /// value > limit, both below 2^31, where a signed comparison is the one that every instruction set has.
  template <class D, class V>
  static HWY_INLINE auto signed_greater(D words, V value, std::uint32_t limit) {
    const hn::RebindToSigned<D> integers;
    return hn::RebindMask(words,
                          hn::Gt(hn::BitCast(integers, value), hn::Set(integers, static_cast<std::int32_t>(limit))));
  }
#endif
};

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
