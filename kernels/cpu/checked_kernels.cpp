// Sums of floating types that form a checksum of one of their sources on the way: a pass of its own would cost a tenth of a large all-reduce.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/checked_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/columns-inl.hpp"
#include "kernels/cpu/reduce-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

/// Fewer elements than a part has.
template <class Type>
HWY_INLINE void sum_rest(const KernelCall& call) {
  const FixedSources<typename Type::Element, Sum, 2> two(call);
  const FixedDestinations<typename Type::Element, 1> destination(call);
  if (call.count > 2 * Type::full_lanes) reduce_many<Type>(two, destination, call.count);
  else reduce_few<Type, Type::full_lanes>(two, destination, call.count);
}

/// A part of the checked source at a time. A destination may be one of the sources: all of a block is read before it is written. Nothing is asked for
/// ahead: that brought nothing (docs/design/0016-integrity.md).
template <class Type, bool streamed>
HWY_INLINE void sum_parts(const KernelCall& call, std::uint32_t checked, Checksum& checksum) {
  using Element = typename Type::Element;
  constexpr std::size_t L = Type::full_lanes, part = Checksum::part_bytes / sizeof(Element);
  constexpr std::size_t U = part / L < 4 ? part / L : 4;
  using Pack = typename Type::template Pack<L>;
  const FixedSources<Element, Sum, 2> two(call);
  auto* const to = static_cast<Element*>(call.destinations[0]);
  const auto* const from = static_cast<const Element*>(call.sources[checked]);
  Columns all(static_cast<std::uint8_t*>(checksum.state()));
  std::size_t index = 0;
  for (; index + part <= call.count; index += part) {
    all.take<Moved::not_at_all>(nullptr, reinterpret_cast<const std::uint8_t*>(from + index));
    for (std::size_t at = index; at < index + part; at += U * L) {
      const Block<Pack, U> block = two.template combine<Pack, U>(at, L);
      for (std::size_t u = 0; u < U; ++u)
        if constexpr (streamed) Pack::stream(block.packs[u], to + at + u * L);
        else Pack::store(block.packs[u], to + at + u * L);
    }
  }
  if (index < call.count) {
    all.take_rest(reinterpret_cast<const std::uint8_t*>(from + index), (call.count - index) * sizeof(Element));
    const void* sources[] = {static_cast<const Element*>(call.sources[0]) + index, static_cast<const Element*>(call.sources[1]) + index};
    void* destinations[] = {to + index};
    KernelCall rest;
    rest.sources = sources;
    rest.destinations = destinations;
    rest.source_count = 2;
    rest.destination_count = 1;
    rest.count = call.count - index;
    sum_rest<Type>(rest);
  }
  all.keep();
}

template <class Type>
void sum_checked(const KernelCall& call, std::uint32_t checked, Checksum& checksum) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(call.destinations[0]) % (Type::full_lanes * sizeof(typename Type::Element)) == 0;
  if (call.streamed == 0 || !aligned) return sum_parts<Type, false>(call, checked, checksum);
  sum_parts<Type, true>(call, checked, checksum);
  hwy::FlushStream();
}

void enter_checked(KernelTable& table) {
  const auto enter = [&](DataType type, CheckedKernel kernel) { table.checked_sums[static_cast<std::size_t>(type)] = kernel; };
  enter(DataType::f32, &sum_checked<Native<float>>);
  enter(DataType::f64, &sum_checked<Native<double>>);
  enter(DataType::f16, &sum_checked<Half<F16>>);
  enter(DataType::bf16, &sum_checked<Half<Bf16>>);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_checked);
void add_checked_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_checked)(table);
}
}  // namespace rondo::kernels
#endif
