// f16 and bf16.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/half_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/enter-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

void enter_half(KernelTable& table) {
  enter_arithmetic<Half<F16>>(table, DataType::f16);
  enter_arithmetic<Half<Bf16>>(table, DataType::bf16);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_half);
void add_half_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_half)(table);
}
}  // namespace rondo::kernels
#endif
