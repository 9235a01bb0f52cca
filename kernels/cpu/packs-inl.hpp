// A pack: `lanes` elements of a type as they are held in registers, in the type they are combined in. Included once for
// each instruction set.
#if defined(RONDO_KERNELS_CPU_PACKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_PACKS_INL
#undef RONDO_KERNELS_CPU_PACKS_INL
#else
#define RONDO_KERNELS_CPU_PACKS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/divider.hpp"
#include "kernels/cpu/halves-inl.hpp"
#include "kernels/cpu/operations-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Elements combined in their own type.
template <class T>
struct Native {
  static constexpr std::size_t unroll = 4;  ///< packs in a block of the main loop: enough loads in flight for L2
  using Element = T;
  using Combined = T;  ///< the type in which elements are combined
  static constexpr std::size_t full_lanes = hn::MaxLanes(hn::ScalableTag<T>());

  template <std::size_t L>
  struct Pack {
    using Tag = hn::CappedTag<T, L>;
    using Value = hn::Vec<Tag>;
    static constexpr std::size_t lanes = L;

    static HWY_INLINE Value load(const T* from) { return hn::LoadU(Tag(), from); }
    static HWY_INLINE void store(Value value, T* to) { hn::StoreU(value, Tag(), to); }
    static HWY_INLINE void stream(Value value, T* to) { hn::Stream(value, Tag(), to); }

    template <class Operation>
    static HWY_INLINE Value combine(Value a, Value b) {
      return Operation::apply(Tag(), a, b);
    }
    static HWY_INLINE Value scale(Value value, T factor) { return multiply(Tag(), value, hn::Set(Tag(), factor)); }

    static HWY_INLINE Value divide(Value value, std::uint32_t divisor) {
      if constexpr (std::is_floating_point_v<T>) {
        return hn::Div(value, hn::Set(Tag(), static_cast<T>(divisor)));
      } else {
        const Divider<T> divider(divisor);
        HWY_ALIGN T buffer[L];
        hn::Store(value, Tag(), buffer);
        for (T& element : buffer) element = divider(element);
        return hn::Load(Tag(), buffer);
      }
    }
  };
};

/// 16-bit floating elements, combined as two vectors of f32. The format says which element lies in which of the two.
template <class Format>
struct Half {
  static constexpr std::size_t unroll = 2;  ///< of two vectors each
  using Element = std::uint16_t;
  using Combined = float;
  static constexpr std::size_t full_lanes = hn::MaxLanes(hn::ScalableTag<std::uint16_t>());

  template <std::size_t L>
  struct Pack {
    using Tag = typename Pair<L>::Tag;
    using Value = Pair<L>;
    static constexpr std::size_t lanes = L;

    static HWY_INLINE Value load(const Element* from) { return Format::template load<L>(from); }
    static HWY_INLINE void store(Value value, Element* to) { Format::template store<false>(value, to); }
    static HWY_INLINE void stream(Value value, Element* to) { Format::template store<true>(value, to); }

    template <class Operation>
    static HWY_INLINE Value combine(Value a, Value b) {
      return {Operation::apply(Tag(), a.first, b.first), Operation::apply(Tag(), a.second, b.second)};
    }
    /// Rounded to the format: a contribution that is scaled where it is combined has the bits of one that was scaled on its
    /// way into a slot.
    static HWY_INLINE Value scale(Value value, float factor) {
      const auto by = hn::Set(Tag(), factor);
      HWY_ALIGN Element rounded[L];
      store({hn::Mul(value.first, by), hn::Mul(value.second, by)}, rounded);
      return load(rounded);
    }
    static HWY_INLINE Value divide(Value value, std::uint32_t divisor) {
      const auto by = hn::Set(Tag(), static_cast<float>(divisor));
      return {hn::Div(value.first, by), hn::Div(value.second, by)};
    }
  };
};

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
