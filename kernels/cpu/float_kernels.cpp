// f32 and f64.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/enter-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

void enter_float(KernelTable& table) {
  enter_arithmetic<Native<float>>(table, DataType::f32);
  enter_arithmetic<Native<double>>(table, DataType::f64);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_float);
void add_float_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_float)(table);
}
}  // namespace rondo::kernels
#endif
