#include "blocks.hpp"

#include <algorithm>

namespace rondo_torch {
namespace {

/// The list as one tensor, where its tensors follow one another in memory; else undefined.
at::Tensor joined(const Tensors& list) {
  const at::AutoDispatchBelowAutograd below;
  const at::Tensor& first = list.front();
  const std::int64_t count = first.numel();
  const auto* at = static_cast<const char*>(first.data_ptr());
  bool adjacent = true;
  for (const at::Tensor& block : list) {
    adjacent = adjacent && block.is_contiguous() && block.data_ptr() == at && block.is_alias_of(first);
    at += static_cast<std::size_t>(count) * first.element_size();
  }
  if (adjacent && !first.is_cpu()) return first.as_strided({static_cast<std::int64_t>(list.size()) * count}, {1});
  if (adjacent) return at::from_blob(first.data_ptr(), {static_cast<std::int64_t>(list.size()) * count}, first.options());
  return {};
}

bool lie_apart(const void* a, const void* b, std::uintptr_t bytes) {
  const auto distance = reinterpret_cast<std::uintptr_t>(a) - reinterpret_cast<std::uintptr_t>(b);
  return distance >= bytes && -distance >= bytes;
}

/// Where the library can take the tensors one by one: where they are written each has memory of its own, and `other` is none of them, but for the rank's own.
std::vector<void*> places_of(const Operation& operation, const Tensors& list, const void* other, bool written) {
  std::vector<void*> places;
  if (operation.on || list.front().numel() == 0) return places;
  const std::uintptr_t bytes = list.front().nbytes();
  for (const at::Tensor& tensor : list) {
    void* const place = tensor.data_ptr();
    const bool in_place = place == other && places.size() == static_cast<std::size_t>(operation.id.rank);
    if (!tensor.is_contiguous() || !(in_place || lie_apart(place, other, bytes))) return {};
    places.push_back(place);
  }
  std::vector<void*> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 1; written && k < sorted.size(); ++k)
    if (!lie_apart(sorted[k], sorted[k - 1], bytes)) return {};
  return places;
}

/// Keeps them as long as the call takes.
void* const* kept(Operation& operation, std::vector<void*> places) {
  operation.lists.push_back(std::move(places));
  return operation.lists.back().data();
}

}  // namespace

void give_blocks(Operation& operation, const Tensors& list, rondo_call& call) {
  if (const at::Tensor together = joined(list); together.defined()) {
    call.input = together.data_ptr();
    return;
  }
  if (std::vector<void*> places = places_of(operation, list, call.output, false); !places.empty()) {
    call.inputs = kept(operation, std::move(places));
    return;
  }
  const at::AutoDispatchBelowAutograd below;
  Tensors flat;
  for (const at::Tensor& tensor : list) flat.push_back(tensor.reshape({-1}));
  operation.room.push_back(at::cat(flat));
  call.input = operation.room.back().data_ptr();
}

void receive_blocks(Operation& operation, const Tensors& list, rondo_call& call) {
  if (const at::Tensor together = joined(list); together.defined()) {
    call.output = together.data_ptr();
    return;
  }
  if (std::vector<void*> places = places_of(operation, list, call.input, true); !places.empty()) {
    call.outputs = kept(operation, std::move(places));
    return;
  }
  const at::AutoDispatchBelowAutograd below;
  const at::Tensor blocks = at::empty({static_cast<std::int64_t>(list.size()) * list.front().numel()}, list.front().options());
  std::int64_t begin = 0;
  for (const at::Tensor& tensor : list) {
    operation.copies.emplace_back(blocks.narrow(0, begin, tensor.numel()).view(tensor.sizes()), tensor);
    begin += tensor.numel();
  }
  call.output = blocks.data_ptr();
}

}  // namespace rondo_torch
