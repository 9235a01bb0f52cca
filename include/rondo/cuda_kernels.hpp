/// @defgroup cuda_kernels GPU kernels
/// The arithmetic on buffers in GPU memory, for programs that bring their own plans: combine, copy, cast, scale, and lists of tensors in one pass.
#pragma once

#include <cstdint>

#include "rondo/kernels.hpp"
#include "rondo/result.hpp"
#include "rondo/types.hpp"

namespace rondo {
/// @addtogroup cuda_kernels
/// @{

/// Floating types that GPU kernels convert between. fp8 is rounded with saturation: what is too large, and infinity, becomes the largest finite number
/// of its sign (448, 57344); a NaN stays one.
enum class CudaFloat : std::uint8_t { f16, bf16, f32, f64, e4m3, e5m2 };

/// Sources and destinations that one launch of cuda_combine has room for.
inline constexpr std::uint32_t cuda_combine_limit = 64;

/// Combines n sources into m destinations: what KernelCall says, along the same tree and with the same bits as the processor's kernels, but for the sign
/// and payload of NaNs. One source without scaling: a copy; with it: a scaling.
/// The arrays of pointers lie in host memory and are read before it returns; the pointers in them are to memory that the current device can reach,
/// aligned to their elements (fastest where all lie equally far from a multiple of 16 bytes). `stream` is a cudaStream_t. `blocks` bounds the thread blocks
/// of 512 threads that it takes, 0: what fills the GPU. The hints of the call are ignored.
/// Errors: invalid_argument (more than 64 sources or destinations, none, an undefined operation, scaling or dividing with an operation other than a sum, or
/// what CUDA calls invalid); unsupported (no driver, no GPU, or one that it isn't compiled for: with CUDA's words); out_of_resources; io (a GPU that has
/// failed).
/// Thread-safe. Enqueues and returns; allocates nothing, and may be captured into a graph.
Result<void> cuda_combine(const KernelCall& call, DataType type, ReduceOp op, void* stream, unsigned blocks = 0);

/// Converts `count` elements, each multiplied by `scale` first: in f64 where one of the types is, else in f32; rounded once, to nearest even.
/// Pointers, stream, errors, threads: as for cuda_combine. The regions don't overlap, or are the same and the types equally long.
Result<void> cuda_cast(void* destination, CudaFloat to, const void* source, CudaFloat from, std::uint64_t count, double scale, void* stream);

/// Lists of tensors to be added: source s, destination d have tensor t at sources[s * tensor_count + t], destinations[d * tensor_count + t], of counts[t]
/// elements. The arrays lie in host memory.
struct CudaLists {
  const std::uint64_t* counts = nullptr;    ///< elements of each tensor
  const void* const* sources = nullptr;     ///< source_count × tensor_count
  void* const* destinations = nullptr;      ///< destination_count × tensor_count
  std::uint64_t tensor_count = 0;           ///< any number
  std::uint32_t source_count = 0;           ///< 1 to 8
  std::uint32_t destination_count = 0;      ///< 1 to 8
  CudaFloat source_type = CudaFloat::f32;       ///< of all sources; not f64
  CudaFloat destination_type = CudaFloat::f32;  ///< of all destinations; not f64
  float scale = 1;                          ///< the sum is multiplied by it
};

/// Adds lists of tensors in f32 along the tree of docs/design/0009-strict.md, multiplies by the scale, and rounds once to the destinations' type: a fused
/// bucket in one pass over memory, with neither a flat copy nor memory of its own. One launch for a few hundred tensors: 800 of two sources and one
/// destination.
/// A destination's tensor may be a source's where the types are equally long, and must not overlap any otherwise. `blocks` bounds the thread blocks of 256
/// threads, 0: what fills the GPU. Pointers, stream, errors, threads: as for cuda_combine; invalid_argument also for f64 and more than 8 lists on a side.
Result<void> cuda_combine_lists(const CudaLists& lists, void* stream, unsigned blocks = 0);

/// @}
}  // namespace rondo
