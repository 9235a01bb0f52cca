// f32 with f16 or bf16 in slots.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/wire_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/table.hpp"
#include "kernels/cpu/wire-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

void enter_wire(KernelTable& table) {
  table.wire[static_cast<std::size_t>(DataType::f16)] = &combine_wire<F16Wire>;
  table.wire[static_cast<std::size_t>(DataType::bf16)] = &combine_wire<Bf16Wire>;
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_wire);
void add_wire_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_wire)(table);
}
}  // namespace rondo::kernels
#endif
