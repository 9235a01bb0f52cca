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

inline void enter(KernelTable& table, DataType type, ReduceOp op, Kernel kernel) {
  table.reduce[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)] = kernel;
}

inline void enter_sums(KernelTable& table, DataType type, Kernel kernel) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum}) enter(table, type, op, kernel);
}

/// Signed integers are added and multiplied as unsigned ones are, and divided otherwise.
template <class Signed, class Unsigned>
void sum_signed(const KernelCall& call) {
  if (call.divisor == 0) return reduce<Native<Unsigned>, Sum>(call);
  reduce_scaled<Native<Signed>>(call);
}

template <class Type>
void enter_order(KernelTable& table, DataType type) {
  enter(table, type, ReduceOp::min, &reduce<Type, Min>);
  enter(table, type, ReduceOp::max, &reduce<Type, Max>);
}

/// All that floating types have.
template <class Type>
void enter_arithmetic(KernelTable& table, DataType type) {
  enter_sums(table, type, &reduce<Type, Sum>);
  enter(table, type, ReduceOp::prod, &reduce<Type, Prod>);
  enter_order<Type>(table, type);
}

/// All that integers have but bitwise operations, which have no widths (byte_kernels.cpp). Only order and division tell signed from unsigned; the rest is
/// shared.
template <class Signed, class Unsigned>
void enter_integers(KernelTable& table, DataType signed_type, DataType unsigned_type) {
  enter_sums(table, signed_type, &sum_signed<Signed, Unsigned>);
  enter_sums(table, unsigned_type, &reduce<Native<Unsigned>, Sum>);
  enter_order<Native<Signed>>(table, signed_type);
  enter_order<Native<Unsigned>>(table, unsigned_type);
  for (const DataType type : {signed_type, unsigned_type}) enter(table, type, ReduceOp::prod, &reduce<Native<Unsigned>, Prod>);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
