// i8 and u8, and the bitwise operations on all integers.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/byte_kernels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/enter-inl.hpp"
#include "kernels/cpu/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

/// Of elements of so many bytes: bit by bit they are as many bytes.
template <class Operation, std::size_t width>
void reduce_bits(const KernelCall& call) {
  KernelCall bytes = call;
  bytes.count *= width;
  reduce<Native<std::uint8_t>, Operation>(bytes);
}

template <std::size_t width>
void enter_bits(KernelTable& table, DataType signed_type, DataType unsigned_type) {
  for (const DataType type : {signed_type, unsigned_type}) {
    enter(table, type, ReduceOp::band, &reduce_bits<BitAnd, width>);
    enter(table, type, ReduceOp::bor, &reduce_bits<BitOr, width>);
    enter(table, type, ReduceOp::bxor, &reduce_bits<BitXor, width>);
  }
}

void enter_byte(KernelTable& table) {
  enter_integers<std::int8_t, std::uint8_t>(table, DataType::i8, DataType::u8);
  enter_bits<1>(table, DataType::i8, DataType::u8);
  enter_bits<2>(table, DataType::i16, DataType::u16);
  enter_bits<4>(table, DataType::i32, DataType::u32);
  enter_bits<8>(table, DataType::i64, DataType::u64);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::kernels {
HWY_EXPORT(enter_byte);
void add_byte_kernels(KernelTable& table) {
  RONDO_DISPATCH(enter_byte)(table);
}
}  // namespace rondo::kernels
#endif
