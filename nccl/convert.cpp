#include "convert.hpp"

#include <array>
#include <cmath>
#include <cstring>

namespace rondo::nccl {
namespace {

constexpr std::array types{DataType::i8,  DataType::u8,  DataType::i32, DataType::u32, DataType::i64,
                           DataType::u64, DataType::f16, DataType::f32, DataType::f64, DataType::bf16};
static_assert(types.size() == ncclNumTypes);

constexpr std::array ops{ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min, ReduceOp::avg};
static_assert(ops.size() == ncclNumOps);

template <class T>
T read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

/// IEEE 754 binary16: 1 bit sign, 5 bits exponent, 10 bits fraction.
double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(0x400 + fraction, exponent - 25));
}

/// The upper half of a binary32.
double bfloat(std::uint16_t bits) { return static_cast<double>(read<float>(std::array<std::uint16_t, 2>{0, bits}.data())); }

template <class T>
Result<double> exactly(const void* address) {
  const T value = read<T>(address);
  constexpr T most = T{1} << 53;
  const bool fits = value <= most && (std::is_unsigned_v<T> || value >= T{0} - most);
  if (!fits) return Error{Errc::invalid_argument, "a factor of " + std::to_string(value) + "; accepted: integers up to 2^53", 0, "nccl"};
  return static_cast<double>(value);
}

}  // namespace

std::optional<DataType> type_of(ncclDataType_t type) {
  const auto number = static_cast<std::size_t>(type);
  return number < types.size() ? std::optional(types[number]) : std::nullopt;
}

std::optional<ReduceOp> op_of(ncclRedOp_t op) {
  const auto number = static_cast<std::size_t>(op);
  return number < ops.size() ? std::optional(ops[number]) : std::nullopt;
}

Result<double> scalar_at(const void* address, ncclDataType_t type) {
  switch (type) {
    case ncclInt8: return static_cast<double>(read<std::int8_t>(address));
    case ncclUint8: return static_cast<double>(read<std::uint8_t>(address));
    case ncclInt32: return static_cast<double>(read<std::int32_t>(address));
    case ncclUint32: return static_cast<double>(read<std::uint32_t>(address));
    case ncclInt64: return exactly<std::int64_t>(address);
    case ncclUint64: return exactly<std::uint64_t>(address);
    case ncclFloat16: return half(read<std::uint16_t>(address));
    case ncclFloat32: return static_cast<double>(read<float>(address));
    case ncclFloat64: return read<double>(address);
    case ncclBfloat16: return bfloat(read<std::uint16_t>(address));
    default: return Error{Errc::invalid_argument, "no data type of NCCL 2.18: " + std::to_string(static_cast<int>(type)), 0, "nccl"};
  }
}

}  // namespace rondo::nccl
