// What the coordinator and the ranks of every library say to each other over a local socket: fixed-size messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace compare {

/// send_recv: every rank sends its input to the next rank, and its output is the input of the one before it.
enum class Operation : std::uint32_t {
  all_reduce,
  broadcast,
  reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  gather,
  scatter,
  scan,
  send_recv,
  all_to_all_v,
  barrier
};
inline constexpr std::array<std::string_view, 12> operation_names{"all_reduce", "broadcast", "reduce", "reduce_scatter", "all_gather",   "all_to_all",
                                                                  "gather",     "scatter",   "scan",   "send_recv",      "all_to_all_v", "barrier"};
constexpr std::string_view name_of(Operation operation) { return operation_names[static_cast<std::size_t>(operation)]; }

/// One rank has what the others lack, or gets it.
constexpr bool is_rooted(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::gather || operation == Operation::scatter;
}

/// The others move values and never look at them.
constexpr bool is_reduction(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce || operation == Operation::reduce_scatter || operation == Operation::scan;
}

enum class Type : std::uint32_t { f32, bf16 };
inline constexpr std::array<std::string_view, 2> type_names{"f32", "bf16"};
constexpr std::string_view name_of(Type type) { return type_names[static_cast<std::size_t>(type)]; }
constexpr std::size_t size_of(Type type) { return type == Type::f32 ? 4 : 2; }

/// One thing to measure: an operation (reductions: sum) over buffers as malloc has them, or that begin with a cache line. `bytes` is the size of the larger
/// buffer.
struct Case {
  Operation operation = Operation::all_reduce;
  Type type = Type::f32;
  std::uint32_t in_place = 0;
  std::uint32_t touch = 0;  ///< owners rewrite their input before every call, outside the clock
  std::uint32_t barrier = 0;  ///< likewise the library's own barrier
  std::uint32_t aligned = 0;
  std::uint64_t bytes = 0;
};

/// First message of a rank.
struct Hello {
  std::uint32_t participant = 0;  ///< the number that the coordinator gave the library on its command line
  std::uint32_t rank = 0;
  std::int32_t pid = 0;
  std::uint32_t unused = 0;
  std::array<char, 112> version{};  ///< of the library, zero-terminated
};

struct Command {
  enum class Kind : std::uint32_t { measure, check, supports, quit };
  Kind kind = Kind::quit;
  std::uint32_t release = 0;  ///< give the buffers back afterwards
  std::uint32_t warm_up = 0;
  std::uint32_t iterations = 0;
  std::uint32_t batches = 1;  ///< the median of so many times `iterations` counts
  std::uint32_t unused = 0;
  Case what;
};

struct Reply {
  double ns = 0;            ///< measure: time per operation of this rank
  std::uint64_t wrong = 0;  ///< check: wrong elements; supports: 1 when the library lacks the case
};

static_assert(std::is_trivially_copyable_v<Hello> && std::is_trivially_copyable_v<Command>);

}  // namespace compare
