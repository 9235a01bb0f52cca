/// @defgroup kernels Kernels
/// The contract of the arithmetic: combine n sources into m destinations. kernels/cpu implements it for host memory.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "rondo/checksum.hpp"
#include "rondo/types.hpp"

namespace rondo {
/// @addtogroup kernels
/// @{

/// One call of a kernel. Pointers need only element alignment. A destination may be one of the sources exactly, and must
/// not overlap any otherwise. Sources are combined along one fixed binary tree over their numbers: n of them are the first m, combined, and
/// the others, combined, m the largest power of two below n (docs/design/0009-strict.md). Every destination gets the same bits.
struct KernelCall {
  const void* const* sources = nullptr;  ///< source_count of them, `count` elements each
  void* const* destinations = nullptr;   ///< destination_count of them, likewise
  std::uint32_t source_count = 0;       ///< ≥ 1
  std::uint32_t destination_count = 0;  ///< ≥ 1
  std::uint64_t count = 0;              ///< elements
  std::uint64_t scaled_sources = 0;     ///< bit s: source s is multiplied by `scale`, the product rounded to the type (premul_sum); 64 sources at most
  std::uint64_t streamed = 0;           ///< bit d: destination d won't be read soon; may be written past the caches
  std::uint64_t claimed = 0;            ///< bit d: other cores hold destination d's lines; they are asked for ahead of the stores
  double scale = 1;                     ///< for floating types
  std::int64_t integer_scale = 1;       ///< for integer types (two's complement, wraps)
  std::uint32_t divisor = 0;            ///< avg: divide the result by this; 0: don't
};

/// Does a call of one operation on one type.
using Kernel = void (*)(const KernelCall& call);

/// One call of a wire kernel: a sum of f32 that lie, some of them, in memory as a 16-bit type, the wire (docs/design/0012-fused-buckets.md). As for
/// KernelCall: alignment, overlaps, and the tree. At most 64 sources and 64 destinations.
struct WireCall {
  const void* const* sources = nullptr;  ///< source_count of them, `count` elements each
  void* const* destinations = nullptr;   ///< destination_count of them, likewise
  std::uint32_t source_count = 0;        ///< ≥ 1
  std::uint32_t destination_count = 0;   ///< ≥ 1
  std::uint64_t count = 0;               ///< elements
  std::uint64_t wire_sources = 0;        ///< bit s: source s has elements of the wire type; others have f32, each rounded to the wire type as it is read
  std::uint64_t wire_destinations = 0;   ///< bit d: likewise; where there is one, the result is rounded to the wire type for all
  std::uint64_t scaled_sources = 0;      ///< bit s: source s, of f32, is multiplied by `scale` before it is rounded
  std::uint64_t streamed = 0;            ///< bit d: destination d won't be read soon; may be written past the caches
  double scale = 1;                      ///< used as f32
  std::uint32_t divisor = 0;             ///< avg: divide the result by this, then round; 0: don't
};

/// Does a call with one wire type.
using WireKernel = void (*)(const WireCall& call);

/// A sum of two sources, neither scaled nor divided, into one destination. Gives `checksum` the bytes of source number `checked`, 0 or
/// 1, which are the next part of its string.
using CheckedKernel = void (*)(const KernelCall& call, std::uint32_t checked, Checksum& checksum);

/// Kernels by operation and type. 16-bit floating types are widened to f32, combined there, and rounded once (to nearest
/// even). Integer sums wrap. min/max: a NaN in any source gives a NaN. A null entry: not defined (is_defined is false).
/// avg and premul_sum share sum's entry semantics; they differ by the call's fields alone, which no other operation takes
/// (scaling or dividing with one aborts). Every instruction set gives the same bits, but for the sign and payload of NaNs.
struct KernelTable {
  std::array<std::array<Kernel, data_type_count>, reduce_op_count> reduce{};  ///< by operation, then type
  std::array<WireKernel, data_type_count> wire{};  ///< by wire type; null but for f16 and bf16
  std::array<CheckedKernel, data_type_count> checked_sums{};  ///< by type; null but for floating ones
  /// The entry for both; null where they are not defined together.
  Kernel get(ReduceOp op, DataType type) const { return reduce[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)]; }
};

/// The table for this processor, chosen once at run time (Highway). Thread-safe.
const KernelTable& cpu_kernels();

/// Name of the instruction set chosen, such as "AVX3_ZEN4".
const char* cpu_kernel_target();

/// What stores cost on this kind of processor. Told by its vendor, since nothing else tells; the measurements behind it are
/// in docs/design/0003-cost-model.md.
struct StoreTraits {
  bool copies_beat_stores = false;         ///< onto lines that another core has read: a copy stores whole lines, plain stores fetch them first
  bool claims_pay = false;                 ///< likewise: stores are faster to lines asked for before, by the reduction (KernelCall::claimed) or while waiting
  bool memory_beats_shared_cache = false;  ///< what outgrows a core's own caches is better written past the shared one too
  bool vectors_beat_shifted_copies = false;  ///< where source and destination lie differently in their lines: memcpy moves strings, at half the speed
  bool pulls_beat_copies = false;          ///< out of lines that another core has written: cpu_pull beats memcpy, which moves strings
  bool vectors_pull = false;               ///< likewise, by vectors, where that core is near: it writes lines again slowly out of which strings were moved
  std::uint64_t lines_beat_copies_up_to = 0;  ///< bytes for another core: stores of whole lines in rising order beat memcpy
  /// Bytes from which on copies between cores, and reductions that claim lines, go through two rows of lines side by side, their halves.
  std::uint64_t two_rows_from = std::numeric_limits<std::uint64_t>::max();

  /// Whether there is such a size.
  bool goes_in_rows() const { return two_rows_from != std::numeric_limits<std::uint64_t>::max(); }
  /// Whether cpu_pull beats cpu_copy out of the slots of near cores.
  bool pulls_near() const { return vectors_pull || goes_in_rows(); }
};
/// Those of this processor. Thread-safe. Not for hot paths: the processor is asked each time, and a hypervisor may answer after 17 us.
StoreTraits cpu_stores();

/// Copies `bytes`; with `streamed` the destination is written past the caches where that pays. Regions don't overlap.
void cpu_copy(void* destination, const void* source, std::uint64_t bytes, bool streamed);

/// Copies `bytes` to where another core reads them next; with `past_caches` that one is so far that memory is nearer. Regions don't overlap.
void cpu_publish(void* destination, const void* source, std::uint64_t bytes, bool past_caches = false);

/// Copies `bytes` that another core has just written: line by line, asking ahead for the lines of both sides, and with `more`, which lies behind the source,
/// for its first ones, too; where vectors_pull by vectors alone, and in two rows from `two_rows_from` on. Regions don't overlap.
void cpu_pull(void* destination, const void* source, std::uint64_t bytes, bool more);

/// @}
}  // namespace rondo
