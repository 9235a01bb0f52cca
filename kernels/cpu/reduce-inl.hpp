// The kernel: n sources combined into m destinations in one pass. Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_REDUCE_INL
#undef RONDO_KERNELS_CPU_REDUCE_INL
#else
#define RONDO_KERNELS_CPU_REDUCE_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "kernels/cpu/ends-inl.hpp"
#include "kernels/cpu/packs-inl.hpp"
#include "rondo/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

/// Fewer bytes than this stay in the caches whatever the call says: the fence costs more than it saves.
inline constexpr std::uint64_t least_streamed_bytes = 4096;

/// Fewer than 2L elements, or 2L, for L a power of two: two packs that may overlap. Both are combined before either is
/// stored, so a destination may be one of the sources.
template <class Type, std::size_t L, class Sources, class Destinations>
HWY_INLINE void reduce_few(const Sources& sources, const Destinations& destinations, std::size_t count) {
  using Pack = typename Type::template Pack<L>;
  if constexpr (L == 1) {
    if (count == 1) return destinations.template store<1>(sources.template combine<Pack, 1>(0, 0), 0, 0);
    if (count == 0) return;
  }
  if (count >= L) return destinations.template store<2>(sources.template combine<Pack, 2>(0, count - L), 0, count - L);
  if constexpr (L > 1) reduce_few<Type, L / 2>(sources, destinations, count);
}

/// More than two full packs of elements. The first and the last may overlap their neighbours: they are combined first,
/// while a source that is a destination is still whole, and stored last.
template <class Type, class Sources, class Destinations>
HWY_INLINE void reduce_many(const Sources& sources, const Destinations& destinations, std::size_t count) {
  constexpr std::size_t L = Type::full_lanes;
  constexpr std::size_t U = Type::unroll;
  using Pack = typename Type::template Pack<L>;
  const auto ends = sources.template combine<Pack, 2>(0, count - L);
  std::size_t index = destinations.lead();
  const std::size_t rows = destinations.rows();
  const std::size_t row = (count - index) / (rows * U * L) * U * L;
  for (const std::size_t end = index + row; index < end; index += U * L)
    for (std::size_t r = 0, at = index; r < rows; ++r, at += row)
      destinations.template stream<U>(sources.template combine_next<Pack, U>(at, L), at, L);
  index += (rows - 1) * row;
  for (; index + L <= count; index += L)
    destinations.template stream<1>(sources.template combine<Pack, 1>(index, L), index, L);
  if (destinations.lead() != 0 || index != count) destinations.template store<2>(ends, 0, count - L);
}

/// Two sources, and one or two destinations, are what most plans ask for: they have loops of their own.
template <class Type, class Operation>
HWY_NOINLINE void reduce_two(const KernelCall& call) {
  using Element = typename Type::Element;
  const FixedSources<Element, Operation, 2> two(call);
  if (call.destination_count == 1)
    reduce_many<Type>(two, FixedDestinations<Element, 1>(call), call.count);
  else
    reduce_many<Type>(two, FixedDestinations<Element, 2>(call), call.count);
}

/// Sums that scale or divide.
template <class Type>
HWY_NOINLINE void reduce_scaled(const KernelCall& call) {
  using Element = typename Type::Element;
  constexpr std::size_t L = Type::full_lanes;
  const ScaledSources<Element, typename Type::Combined> scaled(call);
  if (call.count <= 2 * L)
    reduce_few<Type, L>(scaled, AnyDestinations<Element>(call), call.count);
  else
    reduce_many<Type>(scaled, HintedDestinations<Element, L>(call, call.count * sizeof(Element) >= least_streamed_bytes), call.count);
}

/// All other long calls. One loop does with and without hints of how to store: each costs compilers minutes.
template <class Type, class Operation>
HWY_NOINLINE void reduce_any(const KernelCall& call) {
  using Element = typename Type::Element;
  const HintedDestinations<Element, Type::full_lanes> hinted(call, call.count * sizeof(Element) >= least_streamed_bytes);
  reduce_many<Type>(AnySources<Element, Operation>(call), hinted, call.count);
}

/// The kernel of one operation on one type.
template <class Type, class Operation>
void reduce(const KernelCall& call) {
  using Element = typename Type::Element;
  constexpr std::size_t L = Type::full_lanes;
  if (HWY_UNLIKELY((call.scaled_sources | call.divisor) != 0)) {
    if constexpr (std::is_same_v<Operation, Sum>) return reduce_scaled<Type>(call);
    std::abort();  // a bug of the caller: only sums are scaled and divided
  }
  if (call.count > 2 * L) {
    const bool two = call.source_count == 2 && call.destination_count <= 2;
    return two && (call.streamed | call.claimed) == 0 ? reduce_two<Type, Operation>(call) : reduce_any<Type, Operation>(call);
  }
  if (call.source_count == 2 && call.destination_count == 1)
    reduce_few<Type, L>(FixedSources<Element, Operation, 2>(call), FixedDestinations<Element, 1>(call), call.count);
  else
    reduce_few<Type, L>(AnySources<Element, Operation>(call), AnyDestinations<Element>(call), call.count);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
