// cuda_combine_lists on a made-up GPU: the arithmetic of a real one's blocks, by one thread.
#include <vector>

#include "kernels/cuda/lists_loops.hpp"
#include "made_up_gpu/arena.hpp"
#include "made_up_gpu/streams.hpp"
#include "rondo/cuda_kernels.hpp"

namespace rondo {
namespace {

using AddTile = void (*)(const cuda::Tile&, cuda::Lanes);

template <class S>
AddTile adding_to(CudaFloat to) {
  switch (to) {
    case CudaFloat::f32: return cuda::add_tile<S, float>;
    case CudaFloat::f16: return cuda::add_tile<S, cuda::F16>;
    case CudaFloat::bf16: return cuda::add_tile<S, cuda::Bf16>;
    default: return nullptr;
  }
}

AddTile adding(CudaFloat from, CudaFloat to) {
  switch (from) {
    case CudaFloat::f32: return adding_to<float>(to);
    case CudaFloat::f16: return adding_to<cuda::F16>(to);
    case CudaFloat::bf16: return adding_to<cuda::Bf16>(to);
    default: return nullptr;
  }
}

/// The caller's arrays, which end with the call that enqueues.
struct OwnLists {
  explicit OwnLists(const CudaLists& of)
      : lists(of), counts(of.counts, of.counts + of.tensor_count), sources(of.sources, of.sources + of.tensor_count * of.source_count),
        destinations(of.destinations, of.destinations + of.tensor_count * of.destination_count) {}

  void add(AddTile add_tile) const {
    for (std::uint64_t tensor = 0; tensor < lists.tensor_count; ++tensor) {
      std::vector<const void*> from;
      std::vector<void*> to;
      for (std::uint32_t s = 0; s < lists.source_count; ++s) from.push_back(sources[s * lists.tensor_count + tensor]);
      for (std::uint32_t d = 0; d < lists.destination_count; ++d) to.push_back(destinations[d * lists.tensor_count + tensor]);
      add_tile({from.data(), to.data(), lists.source_count, lists.destination_count, 0, static_cast<std::uint32_t>(counts[tensor]), lists.scale}, {0, 1});
    }
  }

  CudaLists lists;
  std::vector<std::uint64_t> counts;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
};

}  // namespace

Result<void> cuda_combine_lists(const CudaLists& lists, void* stream, std::uint32_t) {
  const AddTile add_tile = adding(lists.source_type, lists.destination_type);
  if (add_tile == nullptr) return Error{Errc::unsupported, "a made-up GPU adds lists of f32, f16 and bf16"};
  test::made_up::Stream& on = test::made_up::stream_of(stream);
  const auto kernel = [own = OwnLists(lists), add_tile, gpu = on.gpu] {
    test::made_up::enter_gpu(gpu);
    own.add(add_tile);
    test::made_up::leave_gpu(gpu);
  };
  on.enqueue({kernel, true});
  return {};
}

}  // namespace rondo
