#include "rondo/types.hpp"

#include <string>
#include <utility>

namespace rondo {
namespace {

template <class T>
struct Name {
  T value;
  std::string_view name;
};

constexpr std::array type_names{
    Name<DataType>{DataType::i8, "i8"},     Name<DataType>{DataType::u8, "u8"},   Name<DataType>{DataType::i32, "i32"},
    Name<DataType>{DataType::u32, "u32"},   Name<DataType>{DataType::i64, "i64"}, Name<DataType>{DataType::u64, "u64"},
    Name<DataType>{DataType::f16, "f16"},   Name<DataType>{DataType::bf16, "bf16"}, Name<DataType>{DataType::f32, "f32"},
    Name<DataType>{DataType::f64, "f64"},   Name<DataType>{DataType::i16, "i16"}, Name<DataType>{DataType::u16, "u16"},
    // nccl-tests' spellings
    Name<DataType>{DataType::i8, "int8"},   Name<DataType>{DataType::u8, "uint8"}, Name<DataType>{DataType::i32, "int32"},
    Name<DataType>{DataType::u32, "uint32"}, Name<DataType>{DataType::i64, "int64"}, Name<DataType>{DataType::u64, "uint64"},
    Name<DataType>{DataType::f16, "half"},  Name<DataType>{DataType::bf16, "bfloat16"}, Name<DataType>{DataType::f32, "float"},
    Name<DataType>{DataType::f64, "double"}, Name<DataType>{DataType::i16, "int16"}, Name<DataType>{DataType::u16, "uint16"},
};

constexpr std::array op_names{
    Name<ReduceOp>{ReduceOp::sum, "sum"}, Name<ReduceOp>{ReduceOp::prod, "prod"}, Name<ReduceOp>{ReduceOp::min, "min"},
    Name<ReduceOp>{ReduceOp::max, "max"}, Name<ReduceOp>{ReduceOp::avg, "avg"},   Name<ReduceOp>{ReduceOp::premul_sum, "premul_sum"},
    Name<ReduceOp>{ReduceOp::band, "band"}, Name<ReduceOp>{ReduceOp::bor, "bor"}, Name<ReduceOp>{ReduceOp::bxor, "bxor"},
    Name<ReduceOp>{ReduceOp::premul_sum, "mulsum"},  // nccl-tests' spelling
};

constexpr std::array collective_names{
    Name<Collective>{Collective::all_reduce, "all_reduce"},
    Name<Collective>{Collective::reduce, "reduce"},
    Name<Collective>{Collective::broadcast, "broadcast"},
    Name<Collective>{Collective::reduce_scatter, "reduce_scatter"},
    Name<Collective>{Collective::all_gather, "all_gather"},
    Name<Collective>{Collective::all_to_all, "all_to_all"},
    Name<Collective>{Collective::all_to_all_v, "all_to_all_v"},
    Name<Collective>{Collective::gather, "gather"},
    Name<Collective>{Collective::scatter, "scatter"},
    Name<Collective>{Collective::scan, "scan"},
    Name<Collective>{Collective::barrier, "barrier"},
    Name<Collective>{Collective::send_recv, "send_recv"},
};

template <class Table, class T>
std::string_view name_of(const Table& table, T value) {
  for (const auto& entry : table)
    if (entry.value == value) return entry.name;
  return "unknown";
}

template <class Table>
auto parse(const Table& table, std::string_view what, std::string_view text) -> Result<decltype(table[0].value)> {
  std::string accepted;
  for (const auto& entry : table) {
    if (entry.name == text) return entry.value;
    accepted += (accepted.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Error{Errc::invalid_argument, "unknown " + std::string(what) + " '" + std::string(text) + "'; accepted: " + accepted};
}

}  // namespace

std::string_view to_string(DataType type) { return name_of(type_names, type); }
std::string_view to_string(ReduceOp op) { return name_of(op_names, op); }
std::string_view to_string(Collective collective) { return name_of(collective_names, collective); }

Result<DataType> parse_data_type(std::string_view text) { return parse(type_names, "type", text); }
Result<ReduceOp> parse_reduce_op(std::string_view text) { return parse(op_names, "operation", text); }
Result<Collective> parse_collective(std::string_view text) { return parse(collective_names, "collective", text); }

bool is_defined(ReduceOp op, DataType type) {
  const bool bits = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
  const bool floating = type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 || type == DataType::f64;
  return !(bits && floating);
}

bool is_defined(ReduceOp op, Collective collective) {
  return is_reduction(collective) && !(collective == Collective::scan && op == ReduceOp::avg);
}

BlockCounts block_counts(Collective collective, std::uint32_t ranks) {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::scatter: return {ranks, 1};
    case Collective::all_gather:
    case Collective::gather: return {1, ranks};
    case Collective::all_to_all:
    case Collective::all_to_all_v: return {ranks, ranks};
    default: return {1, 1};
  }
}

}  // namespace rondo
