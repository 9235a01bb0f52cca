#include "data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "benchmarks/support/uneven.hpp"

namespace {

using rondo::DataType;
using rondo::ReduceOp;

std::uint64_t hash(std::uint64_t seed, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + rank * 0xbf58476d1ce4e5b9u + index;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

bool is_floating(DataType type) {
  return type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 || type == DataType::f64;
}

/// Unit roundoff of the type.
double roundoff(DataType type) {
  switch (type) {
    case DataType::f16: return 0x1p-11;
    case DataType::bf16: return 0x1p-8;
    case DataType::f32: return 0x1p-24;
    default: return 0x1p-53;
  }
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
double from_bf16(std::uint16_t bits) { return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16)); }

/// Inputs are multiples of 2^-9 below 2 in size, exact in half precision.
std::uint16_t to_f16(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<std::uint16_t>(std::lround(fraction * 2048) - 1024);
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | ((exponent + 14) << 10 | mantissa));
}
double from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  double value = 0;
  if (exponent == 31) value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

/// The value at one position, before it is stored as the type. Products stay near 1.
double real_value(const Shape& shape, std::uint64_t seed, std::uint32_t rank, std::uint64_t index) {
  const std::uint64_t bits = hash(seed, rank, index);
  const bool coarse = shape.type == DataType::f16 || shape.type == DataType::bf16;
  const double unit = coarse ? static_cast<double>(bits % 128) / 128 : static_cast<double>(bits >> 40) / static_cast<double>(1u << 24);
  if (shape.op == ReduceOp::prod) return 0.5 + unit;
  return 2 * unit - 1;
}

template <class T>
T load(const void* data, std::uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

double load_real(DataType type, const void* data, std::uint64_t index) {
  switch (type) {
    case DataType::f16: return from_f16(load<std::uint16_t>(data, index));
    case DataType::bf16: return from_bf16(load<std::uint16_t>(data, index));
    case DataType::f32: return static_cast<double>(load<float>(data, index));
    default: return load<double>(data, index);
  }
}

void store_real(DataType type, void* data, std::uint64_t index, double value) {
  const auto store = [&](auto stored) { std::memcpy(static_cast<char*>(data) + index * sizeof stored, &stored, sizeof stored); };
  switch (type) {
    case DataType::f16: return store(to_f16(value));
    case DataType::bf16: return store(to_bf16(static_cast<float>(value)));
    case DataType::f32: return store(static_cast<float>(value));
    default: return store(value);
  }
}

/// Ranks 0 to this number, which it isn't, combine what a rank gets.
std::uint32_t contributors(const Shape& shape) { return shape.collective == rondo::Collective::scan ? shape.rank + 1 : shape.ranks; }

/// The reference of a reduction over reals, and how far rounding may lead away from it.
struct Reference {
  double value;
  double tolerance;
};

Reference reduce_real(const Shape& shape, std::uint64_t seed, std::uint64_t index) {
  long double result = 0;
  long double magnitude = 0;
  for (std::uint32_t rank = 0; rank < contributors(shape); ++rank) {
    double value = real_value(shape, seed, rank, index);
    if (shape.type == DataType::f32) value = static_cast<double>(static_cast<float>(value));
    value *= factor_of(shape, rank);
    if (rank == 0) result = value;
    else if (shape.op == ReduceOp::prod) result *= value;
    else if (shape.op == ReduceOp::min) result = std::min<long double>(result, value);
    else if (shape.op == ReduceOp::max) result = std::max<long double>(result, value);
    else result += value;
    magnitude += std::fabs(value);
  }
  if (shape.op == ReduceOp::avg) {
    result /= shape.ranks;
    magnitude /= shape.ranks;
  }
  const bool exact = shape.op == ReduceOp::min || shape.op == ReduceOp::max || shape.ranks == 1;
  if (shape.op == ReduceOp::prod) magnitude = std::fabs(result);
  // At most one rounding of each of the ranks - 1 combinations and of the scaling, each relative to what was combined so far.
  return {static_cast<double>(result), exact ? 0 : static_cast<double>(magnitude) * roundoff(shape.type) * (shape.ranks + 1)};
}

template <class T>
T reduce_integer(const Shape& shape, std::uint64_t seed, std::uint64_t index) {
  using U = std::make_unsigned_t<T>;
  U result = 0;
  for (std::uint32_t rank = 0; rank < contributors(shape); ++rank) {
    const U value = static_cast<U>(hash(seed, rank, index) * static_cast<std::uint64_t>(factor_of(shape, rank)));
    if (rank == 0) result = value;
    else switch (shape.op) {
      case ReduceOp::prod: result = static_cast<U>(std::uint64_t{result} * value); break;
      case ReduceOp::min: result = static_cast<U>(std::min(static_cast<T>(result), static_cast<T>(value))); break;
      case ReduceOp::max: result = static_cast<U>(std::max(static_cast<T>(result), static_cast<T>(value))); break;
      case ReduceOp::band: result &= value; break;
      case ReduceOp::bor: result |= value; break;
      case ReduceOp::bxor: result ^= value; break;
      default: result = static_cast<U>(result + value); break;
    }
  }
  // The average is that of the wrapped sum.
  if (shape.op == ReduceOp::avg) {
    if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<long long>(static_cast<T>(result)) / static_cast<long long>(shape.ranks));
    else return static_cast<T>(std::uint64_t{result} / shape.ranks);
  }
  return static_cast<T>(result);
}

template <class T>
void fill_integer(const Shape& shape, std::uint64_t seed, void* input, std::uint64_t origin, std::uint64_t elements) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    const T value = static_cast<T>(hash(seed, shape.rank, origin + i));
    std::memcpy(static_cast<char*>(input) + i * sizeof(T), &value, sizeof(T));
  }
}

/// `elements` of a rank's input from element `origin` on.
void fill_rank(const Shape& shape, std::uint64_t seed, void* input, std::uint64_t origin, std::uint64_t elements) {
  switch (shape.type) {
    case DataType::i8: return fill_integer<std::int8_t>(shape, seed, input, origin, elements);
    case DataType::u8: return fill_integer<std::uint8_t>(shape, seed, input, origin, elements);
    case DataType::i16: return fill_integer<std::int16_t>(shape, seed, input, origin, elements);
    case DataType::u16: return fill_integer<std::uint16_t>(shape, seed, input, origin, elements);
    case DataType::i32: return fill_integer<std::int32_t>(shape, seed, input, origin, elements);
    case DataType::u32: return fill_integer<std::uint32_t>(shape, seed, input, origin, elements);
    case DataType::i64: return fill_integer<std::int64_t>(shape, seed, input, origin, elements);
    case DataType::u64: return fill_integer<std::uint64_t>(shape, seed, input, origin, elements);
    default:
      for (std::uint64_t i = 0; i < elements; ++i) store_real(shape.type, input, i, real_value(shape, seed, shape.rank, origin + i));
  }
}

/// Is element `index` of the output what the ranks' elements `origin` make?
bool right(const Shape& shape, std::uint64_t seed, const void* output, std::uint64_t index, std::uint64_t origin) {
  if (is_floating(shape.type)) {
    const Reference reference = reduce_real(shape, seed, origin);
    const double value = load_real(shape.type, output, index);
    return std::fabs(value - reference.value) <= reference.tolerance;
  }
  switch (shape.type) {
    case DataType::i8: return load<std::int8_t>(output, index) == reduce_integer<std::int8_t>(shape, seed, origin);
    case DataType::u8: return load<std::uint8_t>(output, index) == reduce_integer<std::uint8_t>(shape, seed, origin);
    case DataType::i16: return load<std::int16_t>(output, index) == reduce_integer<std::int16_t>(shape, seed, origin);
    case DataType::u16: return load<std::uint16_t>(output, index) == reduce_integer<std::uint16_t>(shape, seed, origin);
    case DataType::i32: return load<std::int32_t>(output, index) == reduce_integer<std::int32_t>(shape, seed, origin);
    case DataType::u32: return load<std::uint32_t>(output, index) == reduce_integer<std::uint32_t>(shape, seed, origin);
    case DataType::i64: return load<std::int64_t>(output, index) == reduce_integer<std::int64_t>(shape, seed, origin);
    default: return load<std::uint64_t>(output, index) == reduce_integer<std::uint64_t>(shape, seed, origin);
  }
}

/// How many elements of a block differ from what rank `from` has from its element `origin` on.
std::uint64_t wrong_copies(const Shape& shape, std::uint64_t seed, const void* block, std::uint32_t from, std::uint64_t count, std::uint64_t origin = 0) {
  if (count == 0) return 0;
  Shape source = shape;
  source.rank = from;
  source.op = ReduceOp::sum;
  std::vector<char> expected(count * rondo::size_of(shape.type));
  fill_rank(source, seed, expected.data(), origin, count);
  const std::size_t size = rondo::size_of(shape.type);
  if (std::memcmp(expected.data(), block, expected.size()) == 0) return 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) wrong += std::memcmp(expected.data() + i * size, static_cast<const char*>(block) + i * size, size) != 0;
  return wrong;
}

}  // namespace

double factor_of(const Shape& shape, std::uint32_t rank) {
  if (shape.op != ReduceOp::premul_sum) return 1;
  if (is_floating(shape.type)) return rank % 2 == 0 ? 0.5 : 0.25;
  return rank % 2 == 0 ? 3 : 2;  // integers use the truncation, which would be 0
}

void fill_input(const Shape& shape, std::uint64_t seed, void* input) {
  fill_rank(shape, seed, input, 0, shape.count * rondo::block_counts(shape.collective, shape.ranks).input);
}

std::uint64_t count_wrong(const Shape& shape, std::uint64_t seed, const void* output) {
  using rondo::Collective;
  std::uint64_t wrong = 0;
  switch (shape.collective) {
    case Collective::broadcast: return wrong_copies(shape, seed, output, shape.root, shape.count);
    case Collective::send_recv: return wrong_copies(shape, seed, output, (shape.rank + shape.ranks - 1) % shape.ranks, shape.count);
    case Collective::gather:
      if (shape.rank != shape.root) return 0;
      [[fallthrough]];
    case Collective::all_gather:
      for (std::uint32_t from = 0; from < shape.ranks; ++from)
        wrong += wrong_copies(shape, seed, static_cast<const char*>(output) + from * shape.count * rondo::size_of(shape.type), from, shape.count);
      return wrong;
    case Collective::all_to_all:
      for (std::uint32_t from = 0; from < shape.ranks; ++from)
        wrong += wrong_copies(shape, seed, static_cast<const char*>(output) + from * shape.count * rondo::size_of(shape.type), from, shape.count,
                              shape.rank * shape.count);
      return wrong;
    case Collective::all_to_all_v: {
      const auto own = bench_support::uneven_blocks<std::uint64_t>(shape.count, shape.rank, shape.ranks);
      for (std::uint32_t from = 0; from < shape.ranks; ++from) {
        const std::uint64_t origin = bench_support::uneven_blocks<std::uint64_t>(shape.count, from, shape.ranks).sent_at[shape.rank];
        const auto* const block = static_cast<const char*>(output) + own.received_at[from] * rondo::size_of(shape.type);
        wrong += wrong_copies(shape, seed, block, from, own.received[from], origin);
      }
      return wrong;
    }
    case Collective::scatter: return wrong_copies(shape, seed, output, shape.root, shape.count, shape.rank * shape.count);
    case Collective::reduce:
      if (shape.rank != shape.root) return 0;
      [[fallthrough]];
    case Collective::all_reduce:
    case Collective::scan:
      for (std::uint64_t i = 0; i < shape.count; ++i) wrong += !right(shape, seed, output, i, i);
      return wrong;
    case Collective::reduce_scatter:
      for (std::uint64_t i = 0; i < shape.count; ++i) wrong += !right(shape, seed, output, i, shape.rank * shape.count + i);
      return wrong;
    default: return 0;
  }
}
