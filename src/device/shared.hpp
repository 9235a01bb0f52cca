// What the threads of a block share while it runs its part of a call.
#pragma once

#include <cstdint>

#include "device/words.hpp"
#include "executor/executable.hpp"
#include "rondo/kernels.hpp"

namespace rondo::device {

inline constexpr std::uint32_t max_operands = 128;         ///< of a step, both sides
inline constexpr std::uint32_t inline_room = 16u << 10;    ///< for an inlined step's sources and its result
inline constexpr std::uint32_t program_room = 8u << 10;    ///< for a lane's steps and operands, where that is enough

struct Shared {
  std::uint64_t call;
  std::uint64_t flag;  ///< call << 32 | history
  bool entered;        ///< all peers are known to have finished the call before the last one
  bool usable;
  std::uint64_t place;    ///< in a call that this block stopped in
  std::uint64_t exchanged;  ///< messages of an exchange that it is through with
  std::byte* bases[base_count(max_ranks)];
  void* pointers[2][max_operands];  ///< of a step's operands; the next step's are written while some threads still use this one's
  KernelCall kernel[2];             ///< likewise, of a reduction
  WireCall wire[2];                 ///< of a copy or a reduction where slots hold a wire type
  alignas(16) std::byte inlined[inline_room];
  alignas(64) std::byte program[program_room];
};

}  // namespace rondo::device
