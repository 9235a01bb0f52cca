// f32 elements, some of which lie in memory as a 16-bit type, the wire. Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_WIRE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_WIRE_INL
#undef RONDO_KERNELS_CPU_WIRE_INL
#else
#define RONDO_KERNELS_CPU_WIRE_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/ends-inl.hpp"
#include "kernels/cpu/halves-inl.hpp"
#include "kernels/cpu/packs-inl.hpp"
#include "kernels/cpu/reduce-inl.hpp"
#include "rondo/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The upper half of an f32, element by element: unlike Bf16's pairs, neighbours stay neighbours. Sources are any f32, so NaNs need a look.
struct Bf16Wire {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D floats, hn::Vec<hn::Rebind<std::uint16_t, D>> half) {
    return hn::BitCast(floats, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), half)));
  }

  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D floats, hn::Vec<D> value) {
    return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(), hn::BitCast(hn::RebindToSigned<D>(), upper(floats, value)));
  }

  template <class D>
  static HWY_INLINE hn::Vec<D> round(D floats, hn::Vec<D> value) {
    return hn::BitCast(floats, hn::ShiftLeft<16>(upper(floats, value)));
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> upper(D floats, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> words;
    const auto bits = hn::BitCast(words, value);
    const auto cut = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(cut, hn::Set(words, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFFu))));
    return hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(hn::BitCast(floats, bits))), hn::Or(cut, hn::Set(words, 0x0040u)), rounded);
  }
};

struct F16Wire {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D floats, hn::Vec<hn::Rebind<std::uint16_t, D>> half) {
    return F16::widen(floats, half);
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D floats, hn::Vec<D> value) {
    return F16::narrow(floats, value);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> round(D floats, hn::Vec<D> value) {
    return F16::widen(floats, F16::narrow(floats, value));
  }
};

template <class Wire>
class WireEnds {
 public:
  explicit HWY_INLINE WireEnds(const WireCall& call) : call_(call), factor_(static_cast<float>(call.scale)) {
    const std::uint64_t all = call.destination_count < 64 ? (std::uint64_t{1} << call.destination_count) - 1 : ~std::uint64_t{0};
    // What is rounded already stays as it is: a copy into slots alone rounds once, as it is stored.
    const bool combines = call.source_count > 1 || call.divisor != 0;
    rounds_result_ = call.wire_destinations != 0 && combines;
    rounds_sources_ = combines || call.wire_destinations != all;
    if (call.count * sizeof(float) < least_streamed_bytes) return;
    constexpr std::uintptr_t vector_bytes = full_lanes * sizeof(float);
    for (std::uint32_t d = 0; d < call.destination_count; ++d) {
      if ((call.streamed >> d & 1) == 0 || (call.wire_destinations >> d & 1) != 0) continue;
      const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(call.destinations[d]) % vector_bytes;
      const std::size_t lead = (vector_bytes - past) % vector_bytes / sizeof(float);
      if (streamed_ == 0) lead_ = lead;
      if (lead == lead_) streamed_ |= std::uint64_t{1} << d;  // one that lies otherwise is stored plainly
    }
  }
  WireEnds(const WireEnds&) = delete;
  WireEnds& operator=(const WireEnds&) = delete;
  HWY_INLINE ~WireEnds() {
    if (streamed_ != 0) hwy::FlushStream();
  }

  static constexpr std::size_t full_lanes = Native<float>::full_lanes;
  /// Elements before the first aligned store.
  std::size_t lead() const { return lead_; }

  /// U packs of L elements from `index` on. `streams`: where stores past the caches are aligned.
  template <std::size_t L, std::size_t U, bool streams>
  HWY_INLINE void combine(std::size_t index) const {
    using Pack = typename Native<float>::template Pack<L>;
    Block<Pack, U> block;
    if (call_.source_count < 4) {  // along the tree, as it happens, if one after another
      block = load<Pack, U>(0, index);
      for (std::uint32_t s = 1; s < call_.source_count; ++s) block = combined<Sum>(block, load<Pack, U>(s, index));
    } else {
      Tree<Sum, Pack, U> tree;
      for (std::uint32_t s = 0; s < call_.source_count; ++s) tree.add(load<Pack, U>(s, index));
      block = tree.all();
    }
    for (std::size_t u = 0; u < U; ++u) {
      if (call_.divisor != 0) block.packs[u] = Pack::divide(block.packs[u], call_.divisor);
      if (rounds_result_) block.packs[u] = Wire::round(typename Pack::Tag(), block.packs[u]);
    }
    for (std::uint32_t d = 0; d < call_.destination_count; ++d) store<streams>(block, d, index);
  }

 private:
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> load(std::uint32_t s, std::size_t index) const {
    const typename Pack::Tag floats;
    const hn::Rebind<std::uint16_t, typename Pack::Tag> halves;
    Block<Pack, U> block;
    if ((call_.wire_sources >> s & 1) != 0) {
      const auto* const from = static_cast<const std::uint16_t*>(call_.sources[s]) + index;
      for (std::size_t u = 0; u < U; ++u) block.packs[u] = Wire::widen(floats, hn::LoadU(halves, from + u * Pack::lanes));
      return block;
    }
    const auto* const from = static_cast<const float*>(call_.sources[s]) + index;
    for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::load(from + u * Pack::lanes);
    if ((call_.scaled_sources >> s & 1) != 0)
      for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::scale(block.packs[u], factor_);
    if (rounds_sources_)
      for (std::size_t u = 0; u < U; ++u) block.packs[u] = Wire::round(floats, block.packs[u]);
    return block;
  }

  template <bool streams, class Pack, std::size_t U>
  HWY_INLINE void store(const Block<Pack, U>& block, std::uint32_t d, std::size_t index) const {
    const typename Pack::Tag floats;
    const hn::Rebind<std::uint16_t, typename Pack::Tag> halves;
    if ((call_.wire_destinations >> d & 1) != 0) {
      auto* const to = static_cast<std::uint16_t*>(call_.destinations[d]) + index;
      for (std::size_t u = 0; u < U; ++u) hn::StoreU(Wire::narrow(floats, block.packs[u]), halves, to + u * Pack::lanes);
      return;
    }
    auto* const to = static_cast<float*>(call_.destinations[d]) + index;
    if (streams && (streamed_ >> d & 1) != 0) {
      for (std::size_t u = 0; u < U; ++u) Pack::stream(block.packs[u], to + u * Pack::lanes);
      return;
    }
    for (std::size_t u = 0; u < U; ++u) Pack::store(block.packs[u], to + u * Pack::lanes);
  }

  const WireCall& call_;
  const float factor_;
  bool rounds_sources_ = true;
  bool rounds_result_ = false;
  std::size_t lead_ = 0;
  std::uint64_t streamed_ = 0;
};

/// The kernel of one wire type. Elements at the ends go one by one, so that nothing is combined twice where a destination is a source.
template <class Wire>
void combine_wire(const WireCall& call) {
  constexpr std::size_t L = WireEnds<Wire>::full_lanes;
  constexpr std::size_t U = 4;
  const WireEnds<Wire> ends(call);
  std::size_t index = 0;
  for (; index < ends.lead(); ++index) ends.template combine<1, 1, false>(index);
  for (; index + U * L <= call.count; index += U * L) ends.template combine<L, U, true>(index);
  for (; index + L <= call.count; index += L) ends.template combine<L, 1, true>(index);
  for (; index < call.count; ++index) ends.template combine<1, 1, false>(index);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
