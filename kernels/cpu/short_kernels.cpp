// 16-bit integers.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/short_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/enter-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

void enter_short(KernelTable& table) {
  enter_integers<std::int16_t, std::uint16_t>(table, DataType::i16, DataType::u16);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_short);
void add_short_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_short)(table);
}
}  // namespace rondo::kernels
#endif
