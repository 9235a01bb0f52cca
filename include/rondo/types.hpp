/// @defgroup types Types
/// The vocabulary of a collective call: element types, reductions, collectives, and their names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rondo/result.hpp"

namespace rondo {
/// @addtogroup types
/// @{

/// Element types. 16-bit floating types accumulate in f32. u8 also carries booleans and raw bytes.
enum class DataType : std::uint8_t { i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64, i16, u16 };
inline constexpr std::size_t data_type_count = 12;  ///< of DataType

/// Reductions. `avg` is sum divided by the number of ranks (integers truncate towards zero); `premul_sum` multiplies
/// each rank's input by that rank's scalar first. The bit operations accept integer types alone.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg, premul_sum, band, bor, bxor };
inline constexpr std::size_t reduce_op_count = 9;  ///< of ReduceOp

/// What a call does. all_to_all_v is all_to_all with blocks of different lengths, which a rank knows only of its own; scan
/// gives rank r the combination of the inputs of ranks 0 to r.
enum class Collective : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  reduce_scatter,
  all_gather,
  all_to_all,
  all_to_all_v,
  gather,
  scatter,
  scan,
  barrier,
  send_recv
};
inline constexpr std::size_t collective_count = 12;  ///< of Collective

/// How the input and output buffers of one rank lie to each other.
/// `none`: they don't overlap. `same`: input and output begin at one address and cover the same blocks.
/// `block`: the smaller one is this rank's block of the larger one (all_gather and gather: input inside output;
/// reduce_scatter and scatter: output inside input). `any`: one rank's so, another's so, as far as anybody knows.
enum class Alias : std::uint8_t { none, same, block, any };

/// Size of one element in bytes.
constexpr std::size_t size_of(DataType type) {
  constexpr std::array<std::uint8_t, data_type_count> sizes{1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 2, 2};
  return sizes[static_cast<std::size_t>(type)];
}

std::string_view to_string(DataType type);          ///< "f32", ...
std::string_view to_string(ReduceOp op);            ///< "sum", ...
std::string_view to_string(Collective collective);  ///< "all_reduce", ...

/// The type of that name; nccl-tests' spellings ("float", ...) are read too. Error: invalid_argument names the text and lists what is accepted.
Result<DataType> parse_data_type(std::string_view text);
/// The operation of that name; nccl-tests' spellings ("mulsum") are read too. Error: invalid_argument names the text and lists what is accepted.
Result<ReduceOp> parse_reduce_op(std::string_view text);
/// The collective of that name. Error: invalid_argument names the text and lists what is accepted.
Result<Collective> parse_collective(std::string_view text);

/// Whether the operation is defined on the type: everything but bit operations on floating types.
bool is_defined(ReduceOp op, DataType type);

/// Whether the collective can use the operation: every reduction all of them, but scan no avg (an average over how many?).
bool is_defined(ReduceOp op, Collective collective);

/// True for the collectives that combine values.
inline bool is_reduction(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce || collective == Collective::reduce_scatter ||
         collective == Collective::scan;
}

/// True for the collectives with a root: one rank that has what the others lack, or gets it.
inline bool is_rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

/// Whether Alias::block means for the collective that, in place, the input is the rank's own block of the output.
/// Of a rooted collective that holds for the root, which alone has both buffers.
inline bool input_is_block(Collective collective) { return collective == Collective::all_gather || collective == Collective::gather; }
/// Whether Alias::block means for the collective that, in place, the output is the rank's own block of the input; likewise.
inline bool output_is_block(Collective collective) { return collective == Collective::reduce_scatter || collective == Collective::scatter; }

/// How many blocks a rank's input (output) buffer has: all_gather reads 1 and writes `ranks`, and so on. They are equal
/// but for all_to_all_v.
struct BlockCounts {
  std::uint32_t input = 1;   ///< of the root, where the collective has one
  std::uint32_t output = 1;  ///< likewise
};
/// Those of a collective between `ranks` ranks.
BlockCounts block_counts(Collective collective, std::uint32_t ranks);

/// @}
}  // namespace rondo
