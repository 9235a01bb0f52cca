// The bytes that ranks share: offsets and atomics only. Who writes what when is 0004-slot-protocol.md.
// One context (a communicator's collectives, or one direction of one pair) has one such area in each member's segment;
// every word in it is written by that member alone, but for what a plan writes into a peer's scratch, and the words by which ranks share out copies.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_hints.hpp"
#include "executor/call_numbers.hpp"
#include "executor/sleep.hpp"

namespace rondo {

/// Processors fetch lines in pairs. A line that others poll has its pair for itself: else its owner would wait for them to
/// give back the neighbour, too, whenever it writes there.
inline constexpr std::size_t line_pair = 128;
inline constexpr std::uint32_t inline_payload = 56;   ///< payload bytes of an inline line; its flag takes the rest

using SharedWord = std::atomic<std::uint64_t>;
static_assert(SharedWord::is_always_lock_free && sizeof(SharedWord) == 8, "shared words must be plain memory");

/// What a member is doing; `state` of its StatusLine.
enum class MemberState : std::uint64_t { running = 0, left = 1, aborted = 2, failed = 3 };

struct alignas(cache_line) StatusLine {
  SharedWord done;      ///< last call that this member has finished
  SharedWord state;     ///< MemberState
  SharedWord culprit;   ///< rank + 1 of the peer whose abort() this member passes on; 0: its own
  SharedWord failure;   ///< Errc << 32 | length of the last words that say why this member failed; 0: none
  SharedWord reads;     ///< the call in which this member may be reading peers' buffers that these may unmap, or writing there; 0: none
  SharedWord waits_in;  ///< of the first communicator alone: says in which one a call of this rank is slow (waits.cpp); 0: none
  SharedWord waits_for; ///< of a call that has waited long: call << 32 | lane of a member << 16 | that member + 1; 0: none
  SharedWord waits_at;  ///< likewise: own lane << 48 | own step << 32 | how many signals of that lane it waits for
};

/// Which members this one has areas for messages to: a bit for each, set once. Of a communicator's collectives' context alone.
struct alignas(cache_line) DestinationLine {
  static constexpr std::uint32_t most_ranks = 512;
  SharedWord words[most_ranks / 64];
};

/// Behind all areas a segment has room for its rank's last words. They become memory when they are said.
inline constexpr std::uint64_t last_words_bytes = 4096;

/// The call a member is in, at a place that doesn't depend on the plan. `sequence` is written last (release) and zeroed first.
struct alignas(cache_line) CallRecord {
  SharedWord sequence;
  SharedWord count;
  SharedWord plan_hash;
  SharedWord what;      ///< collective | type << 8 | op << 16 | symmetric << 24 | in place << 25
  SharedWord root;
  SharedWord digest;
};

/// Whose area this is, for who reads the segment from outside (`rondo inspect`). `magic` is written last (release), once.
struct IdentityWords {
  SharedWord magic;     ///< identity_magic
  SharedWord rank;      ///< size << 32 | rank in the communicator
  SharedWord family;    ///< SeenRank::family
  SharedWord number;    ///< first_of_group << 48 | SeenRank::communicator
  SharedWord lanes;     ///< of the layout
};

/// Of a communicator's collectives' context alone. Peers look here whenever they have signalled, so nothing may be written beside it while calls run.
struct alignas(line_pair) SleepLine {
  SleepWord asleep;
  SharedWord survivors;  ///< of a communicator that is over: what its rank says in shrink() (SurvivorWord)
  IdentityWords identity;
};

/// A lane's progress, and the flag (call << 32 | history) by parity, written before the lane's first signal of a call.
struct alignas(line_pair) LaneLine {
  SharedWord progress;
  SharedWord digest[2];
  SharedWord buffers[2][2];  ///< of lane 0, by parity, for direct plans: where this rank's input and output are; no_buffer: it has none
  SharedWord broken;         ///< of lane 0: not 0 before this rank's user gets an error, and so the buffers that peers may be reading
  SharedWord bounced;        ///< of lane 0: by the first and the last rank alone, between calls (communicator/probe.hpp)
  SharedWord writer;         ///< of lane 0: the thread that the kernel last wrote into a peer's memory for
  SharedWord checked_as;     ///< under the thread sanitizer: by which address it knows the lane (thread_checker.hpp)
};
inline constexpr std::uint64_t no_buffer = ~std::uint64_t{0};
/// Of a call in which not just one member's slots are written: those of several, or none.
inline constexpr std::uint32_t several_writers = ~std::uint32_t{0};
inline constexpr std::uint32_t no_writer = several_writers - 1;

/// By which ranks share out copies that several could make (Step::once), of one parity: call << progress_call_shift | pieces, the first so many of which
/// somebody makes or has made.
struct alignas(line_pair) OnceLines {
  SharedWord words[16];
};

/// A tiny message with its flag (call << 32 | history) in one cache line.
struct alignas(cache_line) InlineLine {
  std::byte payload[inline_payload];
  SharedWord flag;
};

static_assert(offsetof(LaneLine, broken) + sizeof(SharedWord) == cache_line, "what is read together is one line");
static_assert(sizeof(StatusLine) == cache_line && sizeof(CallRecord) == cache_line && sizeof(LaneLine) == line_pair && sizeof(OnceLines) == line_pair &&
              sizeof(InlineLine) == cache_line && sizeof(DestinationLine) == cache_line);

/// In front of a slot of an all_to_all_v, or of a communicator that checks what passes between ranks. Plain memory, as the payload behind it is, and
/// published with it.
struct alignas(cache_line) SlotHeader {
  std::uint64_t block_bytes;  ///< all_to_all_v, of the first piece: length of the pair's block
  std::uint64_t checksum;     ///< of the payload, of so many bytes, of this call and piece
  std::uint64_t bytes;
  std::uint64_t writer;       ///< the member that wrote them
  std::uint64_t place;        ///< all_to_all_v, of the first piece: where a block is in its sender's process that isn't in the slots; else 0
};

/// Offsets of one context's area from its beginning, which is aligned to a pair of lines. All members use equal layouts.
struct ContextLayout {
  std::uint32_t lanes = 0;
  std::uint32_t inline_lines = 0;    ///< for one call parity
  std::uint64_t half_bytes = 0;      ///< staging that one call may write

  std::uint64_t status() const { return 0; }
  std::uint64_t destinations() const { return cache_line; }
  std::uint64_t records() const { return line_pair; }  ///< of both parities: nobody reads them but to find out why a wait doesn't end
  std::uint64_t sleep() const { return 2 * line_pair; }
  std::uint64_t once(std::uint64_t parity) const { return (3 + parity) * line_pair; }
  std::uint64_t lane(std::uint32_t index) const { return (5 + std::uint64_t{index}) * line_pair; }
  std::uint64_t inline_line(std::uint64_t parity, std::uint32_t index) const {
    return lane(lanes) + (parity * inline_lines + index) * cache_line;
  }
  std::uint64_t control_bytes() const { return (inline_line(2, 0) + 4095) / 4096 * 4096; }
  std::uint64_t staging(std::uint64_t half) const { return control_bytes() + half * half_bytes; }
  std::uint64_t total_bytes() const { return staging(2); }
};

}  // namespace rondo
