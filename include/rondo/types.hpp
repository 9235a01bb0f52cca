// The vocabulary of a collective call: element types, reductions, collectives, and their names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rondo/result.hpp"

namespace rondo {

/// Element types. 16-bit floating types accumulate in f32. u8 also carries booleans and raw bytes.
enum class DataType : std::uint8_t { i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64 };
inline constexpr std::size_t data_type_count = 10;

/// Reductions. `avg` is sum divided by the number of ranks (integers truncate towards zero); `premul_sum` multiplies
/// each rank's input by that rank's scalar first. The bit operations accept integer types alone.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg, premul_sum, band, bor, bxor };
inline constexpr std::size_t reduce_op_count = 9;

enum class Collective : std::uint8_t { all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, barrier, send_recv };
inline constexpr std::size_t collective_count = 8;

/// How the input and output buffers of one rank lie to each other.
/// `none`: they don't overlap. `same`: input and output begin at one address and cover the same blocks.
/// `block`: the smaller one is this rank's block of the larger one (all_gather: input inside output;
/// reduce_scatter: output inside input).
enum class Alias : std::uint8_t { none, same, block };

/// Size of one element in bytes.
constexpr std::size_t size_of(DataType type) {
  constexpr std::array<std::uint8_t, data_type_count> sizes{1, 1, 4, 4, 8, 8, 2, 2, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

/// Names as nccl-tests spells types where it has them ("f32" and "float" are both read; "f32" is printed).
std::string_view to_string(DataType type);
std::string_view to_string(ReduceOp op);
std::string_view to_string(Collective collective);

/// The reverse. Errors (invalid_argument) name the text and list what is accepted.
Result<DataType> parse_data_type(std::string_view text);
Result<ReduceOp> parse_reduce_op(std::string_view text);
Result<Collective> parse_collective(std::string_view text);

/// Whether the operation is defined on the type: everything but bit operations on floating types.
bool is_defined(ReduceOp op, DataType type);

/// True for the collectives that combine values (all_reduce, reduce, reduce_scatter).
inline bool is_reduction(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce || collective == Collective::reduce_scatter;
}

/// How many equal blocks a rank's input (output) buffer has: all_gather reads 1 and writes `ranks`, and so on.
struct BlockCounts {
  std::uint32_t input = 1;
  std::uint32_t output = 1;
};
BlockCounts block_counts(Collective collective, std::uint32_t ranks);

}  // namespace rondo
