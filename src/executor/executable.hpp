// What a plan compiles to for one rank, count and type: position-independent plain data (0005-executable.md).
#pragma once

#include <cstdint>
#include <vector>

#include "executor/slot_layout.hpp"
#include "rondo/kernels.hpp"
#include "rondo/plan.hpp"

namespace rondo {

enum class ExecOp : std::uint8_t {
  copy,            ///< one source to n destinations
  fetch,           ///< likewise, from a buffer of another process
  put,             ///< one source to a buffer of another process
  reduce,          ///< n sources to m destinations
  signal,          ///< raise the lane's progress
  wait,            ///< until a lane's progress is there
  once,            ///< whether this rank makes the copy of the step behind it, or another one does
  inline_publish,  ///< copy or reduce into own inline lines and set their flags
  inline_gather,   ///< wait for inline sources, then copy or reduce to the destinations
  checked_move,    ///< copy or reduce with slots among sources or destinations, whose content is checked
  link_move,       ///< copy or reduce with message links among sources or destinations
  block_wait,      ///< all_to_all_v: a wait that belongs to the step behind it
  block_move,      ///< all_to_all_v: a pair's block into its slot, out of it, or the rank's own
};

/// Where an operand lies: bases[base] + offset + piece_stride · piece (+ slot_stride · slot).
struct ExecOperand {
  enum Kind : std::uint8_t { user, slot, inline_line, link };
  std::uint64_t offset = 0;   ///< bytes; inline_line: first line; link: channel
  std::uint32_t base = 0;     ///< index into the base table; inline_line and link: the rank
  std::uint32_t block = 0;    ///< of a user buffer: the one it lies in
  Kind kind = user;
  bool contribution = false;  ///< premul_sum scales it
  bool streamed = false;      ///< a destination that is written past the caches: an output nobody reads soon, a slot whose readers are far
  bool pulled = false;        ///< a destination that is copied to by cpu_pull unless it is streamed: out of a slot, or past what caches hold
  bool claimed = false;       ///< a destination of a reduction: its lines are asked for ahead, a user buffer's out of place alone

  /// Whether it is a part of this rank's input, or of its output (`base_input`, `base_output`).
  bool is_in(std::uint32_t buffer) const { return kind == user && base == buffer; }
};

/// Base table: 0 the input, 1 the output, 2 + r the half of rank r's staging that is this call's, then all ranks' inputs and all ranks' outputs: of
/// direct plans, those that this rank reads.
inline constexpr std::uint32_t base_input = 0;
inline constexpr std::uint32_t base_output = 1;
inline constexpr std::uint32_t base_staging = 2;
constexpr std::uint32_t base_of_peer(std::uint32_t ranks, std::uint32_t rank, bool output) { return base_staging + (output ? 2 : 1) * ranks + rank; }
constexpr std::uint32_t base_count(std::uint32_t ranks) { return base_staging + 3 * ranks; }

/// Which of a peer's buffers a direct plan reads: bits.
inline constexpr std::uint8_t reads_input = 1;
inline constexpr std::uint8_t reads_output = 2;

/// One compiled step: a cache line.
struct alignas(64) ExecStep {
  ExecOp op = ExecOp::copy;
  bool finish = false;
  bool check_digest = false;     ///< wait: the first from this rank in this call
  bool reduces = false;          ///< combine (else copy)
  std::uint16_t sources = 0;
  std::uint16_t destinations = 0;
  std::uint32_t first_operand = 0;  ///< sources, then destinations
  std::uint32_t skew = 0;
  std::uint32_t rank = 0;        ///< wait: whose lane; fetch, put: whose buffer; once: whose word
  std::uint32_t lane = 0;        ///< wait: which; once: which word
  std::uint32_t lag = 0;         ///< wait: how many pieces ago; once: how many steps the copy is
  std::uint32_t source_step = 0; ///< lane · 2^16 + step of the lowered program: for diagnosis
  std::uint64_t position = 0;    ///< signal: s + 1; wait: s + 1 + skew · stride of the signal waited for
  std::uint64_t stride = 0;      ///< signals per body of the lane in question
  std::uint64_t chunk_bytes = 0; ///< length of the chunk this step moves
  std::uint32_t block = 0;       ///< all_to_all_v: the rank at the other end
  bool receives = false;         ///< all_to_all_v: the block is from it, not for it
  std::uint8_t attaches = 0;     ///< wait: then the rank's buffers are known, of which these are read
  bool begins = false;           ///< signal: the first thing its lane does, of plans whose ranks agree; wait: for one. Whoever has agreed has done it
  bool confirms = false;         ///< signal: not once a rank whose buffers were read has failed, since they may have been changed
};
static_assert(sizeof(ExecStep) == 64);

struct ExecLane {
  std::uint32_t first_step = 0;
  std::uint32_t steps = 0;
  std::uint32_t signals = 0;     ///< per body
};

struct Executable {
  Plan plan;                         ///< the lowered plan it was made from: what runs, for diagnosis and printing
  std::vector<ExecStep> steps;
  std::vector<ExecOperand> operands;
  std::vector<ExecLane> lanes;
  ExecLane kept;                     ///< what the rank copies for itself: run while it would wait, and at the end
  std::vector<std::uint32_t> hears;  ///< ranks it waits for in every call
  bool hears_all = false;
  bool inlined = false;
  bool straight = false;             ///< one lane, one turn
  bool copies_beat_stores = false;   ///< a reduction to several destinations stores one and copies it to the others
  bool links = false;                ///< some of its steps move messages
  bool direct = false;               ///< peers' buffers are read; its own are told to the peers
  bool agrees = false;               ///< likewise, once all ranks have entered and say that theirs are for it
  bool writes_peers = false;         ///< likewise, and this rank writes peers' outputs
  bool checked = false;              ///< slots and messages have checksums
  bool fetches = false;              ///< likewise, but the kernel copies from and to them: they are told as addresses in their process
  std::vector<std::uint32_t> reads;  ///< the ranks whose buffers it reads
  std::uint64_t input_bytes = 0;     ///< direct: of each rank that has one
  std::uint64_t output_bytes = 0;    ///< likewise
  std::uint64_t block_bytes = 0;     ///< of a block of either
  std::int64_t input_in_output = 0;  ///< in place: how far behind the output the input begins; the smaller is the rank's block of the larger
  bool streams_in_place = false;     ///< outputs that are streamed are so in place, too
  bool by_blocks = false;            ///< all_to_all_v: lengths, and with them pieces and turns, are bound at the call
  std::uint64_t rendezvous_from = 0; ///< likewise: bytes of the shortest block that the kernel copies from where it is, whole; 0: none
  std::uint64_t turns = 0;           ///< pieces + largest skew
  std::uint64_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::uint64_t slot_stride = 0;     ///< bytes from one slot of the scratch to the next
  std::uint64_t ring_slots = 1;      ///< slots of each scratch chunk that are taken in turn: as many as the plan asks for, or the call has pieces, or more
  std::uint64_t slots_per_call = 0;  ///< how many of them further the next call in these halves begins
  std::uint32_t writer = several_writers;  ///< the one rank in whose slots it writes, or no_writer: the others keep their halves for the next call
  std::uint32_t element_bytes = 1;
  std::uint32_t divisor = 0;         ///< avg: what a finishing step divides by
  Kernel kernel = nullptr;           ///< null for calls that combine nothing
  CheckedKernel checked_sum = nullptr;  ///< of calls that are checked, where there is one for their type and operation
  WireKernel wire_kernel = nullptr;  ///< where slots hold a wire type: all of its copies and reductions. Its calls bind segments
  std::uint32_t wire_shift = 0;      ///< then: so many times shorter is an element in a slot, as a power of two
  bool aims_claims = false;          ///< this rank writes slots of its own, and asking ahead for them (claims.hpp) may pay
  std::uint64_t claim_begin = 0;     ///< then: where in a slot it writes
  std::uint64_t claim_bytes = 0;     ///< likewise, from there on: what is worth asking for before a call; 0: nothing
  std::uint64_t plan_hash = 0;
};

}  // namespace rondo
