// The kernels' work on a span of elements, shared by the threads that are told to: of a block, of a cluster, or one. Hosts compile it, too, and get the same
// bits, so that what a GPU computes is tested without one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/combine_loops.hpp"
#include "kernels/cuda/copy_span.hpp"
#include "kernels/cuda/element.hpp"
#include "rondo/kernels.hpp"
#include "rondo/types.hpp"

namespace rondo::cuda {

/// The type whose operation does the same: sums and products don't know signs, and bit operations no elements.
template <class T>
using Unsigned = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
using Signless = std::conditional_t<is_float<T>, T, Unsigned<T>>;

/// What KernelCall says (rondo/kernels.hpp), for elements of type T; the caller is one of lanes.count threads, each of which makes the same call with
/// an index of its own. An element is handled by one thread alone, which reads all sources before it writes, so a destination may be a source. There is no
/// barrier in it. At most most_sources sources. Of the hints it takes none. A bug of the caller, such as scaling with min, ends the program.
template <class T>
RONDO_HD inline void combine_span(const KernelCall& call, ReduceOp op, Lanes lanes) {
  const bool extras = (call.scaled_sources | call.divisor) != 0;
  if (extras && op != ReduceOp::sum && op != ReduceOp::avg && op != ReduceOp::premul_sum) machine::give_up();
  const std::uint64_t bytes = call.count * sizeof(T);
  if (call.source_count == 1 && !extras) return copy_span(call.destinations, call.destination_count, call.sources[0], bytes, lanes);
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum:
      if (extras) return combine_by<ScaledSum<T>>(call, bytes, lanes);
      return combine_by<Combining<Signless<T>, Sum>>(call, bytes, lanes);
    case ReduceOp::prod: return combine_by<Combining<Signless<T>, Prod>>(call, bytes, lanes);
    case ReduceOp::min: return combine_by<Combining<T, Min>>(call, bytes, lanes);
    case ReduceOp::max: return combine_by<Combining<T, Max>>(call, bytes, lanes);
    case ReduceOp::band:
      if constexpr (!is_float<T>) return combine_by<Combining<std::uint8_t, BitAnd>>(call, bytes, lanes);
      break;
    case ReduceOp::bor:
      if constexpr (!is_float<T>) return combine_by<Combining<std::uint8_t, BitOr>>(call, bytes, lanes);
      break;
    case ReduceOp::bxor:
      if constexpr (!is_float<T>) return combine_by<Combining<std::uint8_t, BitXor>>(call, bytes, lanes);
      break;
  }
  machine::give_up();
}

/// The same for a type that is known at run time.
RONDO_HD inline void combine_span(const KernelCall& call, DataType type, ReduceOp op, Lanes lanes) {
  with_type(type, [&](auto element) { combine_span<decltype(element)>(call, op, lanes); });
}

}  // namespace rondo::cuda
