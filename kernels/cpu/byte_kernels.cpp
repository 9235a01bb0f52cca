// i8 and u8.
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/byte_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/enter-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

void enter_byte(KernelTable& table) {
  enter_integers<std::int8_t, std::uint8_t>(table, DataType::i8, DataType::u8);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_byte);
void add_byte_kernels(KernelTable& table) {
  HWY_DYNAMIC_DISPATCH(enter_byte)(table);
}
}  // namespace rondo::kernels
#endif
