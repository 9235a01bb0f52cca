#include "blocks.hpp"

#include <algorithm>
#include <utility>

namespace rondo_torch {
namespace {

/// Whether they are one buffer's blocks.
bool follow_one_another(const Tensors& list) {
  const auto* next = static_cast<const char*>(list.front().data_ptr());
  for (const at::Tensor& block : list) {
    if (block.data_ptr() != next || !block.is_alias_of(list.front())) return false;
    next += block.nbytes();
  }
  return true;
}

bool lie_apart(const void* a, const void* b, std::uintptr_t bytes) {
  const auto distance = reinterpret_cast<std::uintptr_t>(a) - reinterpret_cast<std::uintptr_t>(b);
  return distance >= bytes && -distance >= bytes;
}

/// Whether two of so many bytes each share memory.
bool overlap(std::vector<void*> places, std::uintptr_t bytes) {
  std::sort(places.begin(), places.end());
  for (std::size_t k = 1; k < places.size(); ++k)
    if (!lie_apart(places[k], places[k - 1], bytes)) return true;
  return false;
}

/// A list as a call takes it: in one piece, or tensor by tensor. Neither: it has to be copied, as those of a device that don't follow one another, whose calls
/// take no lists.
struct Taken {
  void* together = nullptr;
  void* const* apart = nullptr;  ///< kept by the operation
  explicit operator bool() const { return together != nullptr || apart != nullptr; }
};

/// The library takes tensors where they lie if each follows on in itself, has memory of its own where they are written, and `other` is none of them but the
/// rank's own.
Taken take(Operation& operation, const Tensors& list, const void* other, bool written) {
  const std::uintptr_t bytes = list.front().nbytes();
  std::vector<void*> places;
  for (const at::Tensor& tensor : list) {
    const bool in_place = tensor.data_ptr() == other && places.size() == static_cast<std::size_t>(operation.id.rank);
    if (!tensor.is_contiguous() || !(in_place || lie_apart(tensor.data_ptr(), other, bytes))) return {};
    places.push_back(tensor.data_ptr());
  }
  if (written && overlap(places, bytes)) return {};
  if (follow_one_another(list)) return {places.front(), nullptr};
  if (operation.on) return {};
  operation.lists.push_back(std::move(places));
  return {nullptr, operation.lists.back().data()};
}

}  // namespace

void give_blocks(Operation& operation, const Tensors& list, rondo_call& call) {
  if (const Taken taken = take(operation, list, call.output, false)) {
    call.input = taken.together;
    call.inputs = taken.apart;
    return;
  }
  const at::AutoDispatchBelowAutograd below;
  Tensors flat;
  for (const at::Tensor& tensor : list) flat.push_back(tensor.reshape({-1}));
  operation.room.push_back(at::cat(flat));
  call.input = operation.room.back().data_ptr();
}

void receive_blocks(Operation& operation, const Tensors& list, rondo_call& call) {
  if (const Taken taken = take(operation, list, call.input, true)) {
    call.output = taken.together;
    call.outputs = taken.apart;
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
