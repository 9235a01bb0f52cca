#include "arrays.hpp"

#include <string>

namespace rondo_python {
namespace {

using rondo::DataType;
using Code = nb::dlpack::dtype_code;

std::optional<DataType> number(nb::dlpack::dtype dtype) {
  const auto code = static_cast<Code>(dtype.code);
  switch (dtype.bits) {
    case 8: return code == Code::Int ? std::optional(DataType::i8) : code == Code::UInt ? std::optional(DataType::u8) : std::nullopt;
    case 16:
      if (code == Code::Bfloat) return DataType::bf16;
      return code == Code::Int ? DataType::i16 : code == Code::UInt ? DataType::u16 : code == Code::Float ? std::optional(DataType::f16) : std::nullopt;
    case 32: return code == Code::Int ? DataType::i32 : code == Code::UInt ? DataType::u32 : code == Code::Float ? std::optional(DataType::f32) : std::nullopt;
    case 64: return code == Code::Int ? DataType::i64 : code == Code::UInt ? DataType::u64 : code == Code::Float ? std::optional(DataType::f64) : std::nullopt;
    default: return std::nullopt;
  }
}

std::string name_of(nb::dlpack::dtype dtype) {
  const auto code = static_cast<Code>(dtype.code);
  const char* const kind = code == Code::Int      ? "int"
                           : code == Code::UInt   ? "uint"
                           : code == Code::Float  ? "float"
                           : code == Code::Bfloat ? "bfloat"
                           : code == Code::Bool   ? "bool"
                           : code == Code::Complex ? "complex"
                                                   : "type";
  return code == Code::Bool ? kind : kind + std::to_string(dtype.bits);
}

/// Elements that aren't numbers of the library are moved as whole numbers of their width.
void set_type(Buffer& buffer) {
  const nb::dlpack::dtype dtype = buffer.dtype;
  const std::uint64_t bytes = dtype.bits / 8;
  if (const auto known = number(dtype)) {
    buffer.type = *known;
  } else if (static_cast<Code>(dtype.code) == Code::Complex && (dtype.bits == 64 || dtype.bits == 128)) {
    buffer.type = dtype.bits == 64 ? DataType::f32 : DataType::f64;
    buffer.per_element = 2;
  } else {
    buffer.type = bytes == 2 ? DataType::u16 : bytes == 4 ? DataType::u32 : bytes == 8 ? DataType::u64 : DataType::u8;
    buffer.per_element = bytes / rondo::size_of(buffer.type);
  }
}

template <class Array>
Buffer describe(const Array& array, const char* name) {
  Buffer buffer;
  buffer.dtype = array.dtype();
  buffer.elements = array.size();
  buffer.data = const_cast<void*>(static_cast<const void*>(array.data()));
  std::int64_t step = 1;
  bool dense = true;
  for (std::size_t k = array.ndim(); k-- > 0;) {
    if (array.shape(k) != 1 && array.stride(k) != step) dense = false;
    step *= static_cast<std::int64_t>(array.shape(k));
  }
  buffer.shape = "(";
  for (std::size_t k = 0; k < array.ndim(); ++k) buffer.shape += (k == 0 ? "" : ", ") + std::to_string(array.shape(k));
  buffer.shape += (array.ndim() == 1 ? ",) " : ") ") + name_of(buffer.dtype);
  if (!dense && buffer.elements != 0)
    throw nb::value_error(
        (std::string(name) + " is " + buffer.shape + " and not contiguous; accepted: arrays in C order, as numpy.ascontiguousarray() makes").c_str());
  if (buffer.dtype.lanes != 1 || buffer.dtype.bits % 8 != 0 || buffer.dtype.bits == 0)
    throw nb::type_error((std::string(name) + " is " + buffer.shape + "; accepted: elements of whole bytes").c_str());
  set_type(buffer);
  return buffer;
}

}  // namespace

Buffer buffer_of(const Input& array, const char* name) { return describe(array, name); }
Buffer buffer_of(const Output& array, const char* name) { return describe(array, name); }

rondo::ReduceOp combining(const Buffer& buffer, rondo::ReduceOp op) {
  using rondo::ReduceOp;
  const auto refuse = [&](const char* accepted) {
    throw nb::type_error((std::string(rondo::to_string(op)) + " of " + buffer.shape + "; accepted: " + accepted).c_str());
  };
  const auto code = static_cast<Code>(buffer.dtype.code);
  if (code == Code::Bool) {
    if (op == ReduceOp::sum || op == ReduceOp::max || op == ReduceOp::bor) return ReduceOp::bor;
    if (op == ReduceOp::prod || op == ReduceOp::min || op == ReduceOp::band) return ReduceOp::band;
    if (op != ReduceOp::bxor) refuse("sum, prod, min, max, band, bor, bxor");
    return op;
  }
  if (code == Code::Complex) {
    if (op != ReduceOp::sum && op != ReduceOp::avg && op != ReduceOp::premul_sum) refuse("sum, avg, premul_sum");
    return op;
  }
  if (!number(buffer.dtype)) refuse("integers and floats of 8 to 64 bits, bfloat16, complex64, complex128 and bool; other types can be moved");
  return op;
}

}  // namespace rondo_python
