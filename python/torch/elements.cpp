#include "elements.hpp"

#include <c10/util/Exception.h>

#include <optional>

namespace rondo_torch {
namespace {

std::optional<rondo_type> number(at::ScalarType type) {
  switch (type) {
    case at::kChar: return RONDO_I8;
    case at::kByte: return RONDO_U8;
    case at::kShort: return RONDO_I16;
    case at::kUInt16: return RONDO_U16;
    case at::kInt: return RONDO_I32;
    case at::kUInt32: return RONDO_U32;
    case at::kLong: return RONDO_I64;
    case at::kUInt64: return RONDO_U64;
    case at::kHalf: return RONDO_F16;
    case at::kBFloat16: return RONDO_BF16;
    case at::kFloat: return RONDO_F32;
    case at::kDouble: return RONDO_F64;
    default: return std::nullopt;
  }
}

const char* name_of(c10d::ReduceOp::RedOpType op) {
  constexpr const char* names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"};
  return op < std::size(names) ? names[op] : "an unknown operation";
}

[[noreturn]] void refuse(const CallId& id, at::ScalarType type, c10d::ReduceOp::RedOpType op, const char* accepted) {
  C10_THROW_ERROR(TypeError, c10::str("rondo: ", id, ": ", c10::toString(type), " can't be combined by ", name_of(op), "; accepted: ", accepted));
}

rondo_op of_truth_values(const CallId& id, c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::MAX:
    case c10d::ReduceOp::BOR: return RONDO_BOR;
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::BAND: return RONDO_BAND;
    case c10d::ReduceOp::BXOR: return RONDO_BXOR;
    default: refuse(id, at::kBool, op, "SUM, PRODUCT, MIN, MAX, BAND, BOR, BXOR");
  }
}

rondo_op of_numbers(const CallId& id, c10d::ReduceOp::RedOpType op, at::ScalarType type) {
  switch (op) {
    case c10d::ReduceOp::SUM: return RONDO_SUM;
    case c10d::ReduceOp::AVG: return RONDO_AVG;
    case c10d::ReduceOp::PRODUCT: return RONDO_PROD;
    case c10d::ReduceOp::MIN: return RONDO_MIN;
    case c10d::ReduceOp::MAX: return RONDO_MAX;
    case c10d::ReduceOp::PREMUL_SUM: return RONDO_PREMUL_SUM;
    case c10d::ReduceOp::BAND:
    case c10d::ReduceOp::BOR:
    case c10d::ReduceOp::BXOR:
      if (at::isFloatingType(type)) refuse(id, type, op, "SUM, AVG, PRODUCT, MIN, MAX, PREMUL_SUM");
      return op == c10d::ReduceOp::BAND ? RONDO_BAND : op == c10d::ReduceOp::BOR ? RONDO_BOR : RONDO_BXOR;
    default: refuse(id, type, op, "SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM");
  }
}

double factor_of(const c10d::ReduceOp& op) {
  if (op.op_ != c10d::ReduceOp::PREMUL_SUM || !op.supplement_) return 1;
  const auto* factor = static_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  return factor->tensor_factor.defined() ? factor->tensor_factor.item<double>() : factor->double_factor;
}

}  // namespace

Elements moved(at::ScalarType type) {
  if (const auto known = number(type)) return {*known, 1};
  switch (const auto bytes = static_cast<std::int64_t>(c10::elementSize(type))) {
    case 1: return {RONDO_U8, 1};
    case 2: return {RONDO_U16, 1};
    case 4: return {RONDO_U32, 1};
    case 8: return {RONDO_U64, 1};
    case 16: return {RONDO_U64, 2};
    default: return {RONDO_U8, bytes};
  }
}

rondo_call move_call(rondo_collective collective, at::ScalarType type, const void* input, void* output, std::int64_t elements, std::int64_t root) {
  const Elements unit = moved(type);
  rondo_call call{};
  call.size = sizeof call;
  call.collective = collective;
  call.type = unit.type;
  call.input = input;
  call.output = output;
  call.count = static_cast<std::uint64_t>(elements * unit.per_element);
  call.root = static_cast<std::uint32_t>(root);
  return call;
}

Reduction reduced(const CallId& id, at::ScalarType type, const c10d::ReduceOp& op) {
  if (type == at::kBool) return {{RONDO_U8, 1}, of_truth_values(id, op.op_), 1};
  if (at::isComplexType(type)) {
    if (op.op_ != c10d::ReduceOp::SUM && op.op_ != c10d::ReduceOp::AVG && op.op_ != c10d::ReduceOp::PREMUL_SUM)
      refuse(id, type, op.op_, "SUM, AVG, PREMUL_SUM");
    const auto real = number(c10::toRealValueType(type));
    return {{*real, 2}, of_numbers(id, op.op_, type), factor_of(op)};
  }
  const auto known = number(type);
  if (!known) refuse(id, type, op.op_, "whole numbers, Half, BFloat16, Float, Double and complex ones; other types can be moved");
  return {{*known, 1}, of_numbers(id, op.op_, type), factor_of(op)};
}

}  // namespace rondo_torch
