// 32- and 64-bit integers.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/word_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/enter-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

void enter_word(KernelTable& table) {
  enter_integers<std::int32_t, std::uint32_t>(table, DataType::i32, DataType::u32);
  enter_integers<std::int64_t, std::uint64_t>(table, DataType::i64, DataType::u64);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_word);
void add_word_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_word)(table);
}
}  // namespace rondo::kernels
#endif
