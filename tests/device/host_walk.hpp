// A block's way through a call, where the threads of this process are blocks.
#pragma once

#include <memory>
#include <span>

#include "device/host_block.hpp"
#include "device/list.hpp"
#include "device/walk.hpp"
#include "kernels/cuda/element.hpp"

namespace rondo::test {

template <class Element>
void walk(HostBlock& block, const device::Job& job, std::span<const Segment> list, std::uint32_t lane, std::uint32_t slice) {
  const device::List given{list.data(), static_cast<std::uint32_t>(list.size())};
  if (list.empty()) device::Walk<Element, HostBlock>(block, job, lane, slice).run();
  else device::Walk<Element, HostBlock, true>(block, job, lane, slice, given).run();
}

/// `list` is empty where buffers are none.
inline void walk(HostBlock& block, const device::Job& job, const device::Elements& elements, std::span<const Segment> list, std::uint32_t lane,
                 std::uint32_t slice) {
  if (elements.wire == DataType::f16) return walk<device::OnWire<cuda::F16>>(block, job, list, lane, slice);
  if (elements.wire == DataType::bf16) return walk<device::OnWire<cuda::Bf16>>(block, job, list, lane, slice);
  cuda::with_type(elements.type, [&](auto element) { walk<decltype(element)>(block, job, list, lane, slice); });
}

}  // namespace rondo::test
