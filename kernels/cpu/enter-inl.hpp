// Kernels into their places in the table. Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_ENTER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_ENTER_INL
#undef RONDO_KERNELS_CPU_ENTER_INL
#else
#define RONDO_KERNELS_CPU_ENTER_INL
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/cpu/reduce-inl.hpp"
#include "rondo/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

template <class Type, class Operation>
void enter(KernelTable& table, DataType type, ReduceOp op) {
  table.reduce[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)] = &reduce<Type, Operation>;
}

template <class Type>
void enter_sums(KernelTable& table, DataType type) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum}) enter<Type, Sum>(table, type, op);
}

template <class Type>
void enter_order(KernelTable& table, DataType type) {
  enter<Type, Min>(table, type, ReduceOp::min);
  enter<Type, Max>(table, type, ReduceOp::max);
}

/// All that floating types have.
template <class Type>
void enter_arithmetic(KernelTable& table, DataType type) {
  enter_sums<Type>(table, type);
  enter<Type, Prod>(table, type, ReduceOp::prod);
  enter_order<Type>(table, type);
}

/// All that integers have. Only order and division tell signed from unsigned; the rest is shared.
template <class Signed, class Unsigned>
void enter_integers(KernelTable& table, DataType signed_type, DataType unsigned_type) {
  enter_sums<Native<Signed>>(table, signed_type);
  enter_sums<Native<Unsigned>>(table, unsigned_type);
  enter_order<Native<Signed>>(table, signed_type);
  enter_order<Native<Unsigned>>(table, unsigned_type);
  for (const DataType type : {signed_type, unsigned_type}) {
    enter<Native<Unsigned>, Prod>(table, type, ReduceOp::prod);
    enter<Native<Unsigned>, BitAnd>(table, type, ReduceOp::band);
    enter<Native<Unsigned>, BitOr>(table, type, ReduceOp::bor);
    enter<Native<Unsigned>, BitXor>(table, type, ReduceOp::bxor);
  }
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
