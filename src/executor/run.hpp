// The interpreter: a resumable state machine that runs one executable for one call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/block_list.hpp"
#include "executor/blocks.hpp"
#include "executor/context.hpp"
#include "executor/executable.hpp"
#include "executor/segments.hpp"
#include "executor/trace_buffer.hpp"
#include "rondo/checksum.hpp"

namespace rondo {

/// What one call binds: buffers, or what is there in their place; the factor of premul_sum; the blocks of all_to_all_v. Tables must outlive the call.
struct Binding {
  const void* input = nullptr;
  void* output = nullptr;
  double scale = 1;
  const BlockTable* blocks = nullptr;
  const SegmentTable* segments = nullptr;  ///< of a list, in the place of both buffers
  void* const* apart = nullptr;            ///< by rank, in the place of the one buffer that has a block for each
};

/// How the destinations of a step are best written: bits by destination, of the first 64.
struct StoreHints {
  std::uint64_t streamed = 0;  ///< past the caches
  std::uint64_t claimed = 0;   ///< lines are asked for ahead

  /// In place the output's lines are in the caches already, having just been read: what is said of user buffers holds out of place.
  void add(const ExecOperand& operand, std::uint32_t destination, bool out_of_place) {
    const std::uint64_t bit = std::uint64_t{1} << destination;
    if (operand.kind != ExecOperand::slot && !out_of_place) return;
    if (operand.streamed) streamed |= bit;
    else if (operand.claimed) claimed |= bit;
  }
};

/// What a rank read that isn't what was written.
struct Corruption {
  bool found = false;
  std::uint64_t writer = 0;  ///< the member that says it wrote it; one that there isn't: even that is wrong
  std::uint32_t owner = 0;   ///< in whose slots it is; of a message the writer
  std::uint64_t index = 0;   ///< of the chunk there; of a message: the channel
  std::uint64_t piece = 0;
  bool in_message = false;   ///< else in a slot
};

/// A copy that the kernel didn't make.
struct Refusal {
  int reason = 0;        ///< an errno; 0: it has not been asked, or made it
  bool own = false;      ///< for what this rank passed, and not its peer
  bool written = false;  ///< which can't be written; else it can't be read
};

/// `skip`: of a step alone, and within a run: the step behind it is done elsewhere.
enum class Progress : std::uint8_t { done, blocked, mismatch, skip };

/// One call in progress on a context. At most one at a time per context. advance() may be called by any thread that holds
/// the communicator's execution token. `digests` off leaves out what finds ranks that disagree: bench_overhead measures
/// what that costs, and nothing else may use it.
template <bool digests>
class BasicRun {
 public:
  /// Prepares call `context.call + 1`. `executable`, `identity` and buffers must outlive the run.
  void begin(Context& context, const Executable& executable, const CallIdentity& identity, std::uint32_t digest, const Binding& binding);

  /// Whether a rank makes another call than this one, which is for buffers that all ranks can read, and so no rank begins what it does: all withdraw() theirs,
  /// and make a call that ordinary memory will do for. It stays so until this rank has ended the call.
  bool must_withdraw() const;
  void withdraw();

  /// Runs steps until the call is done or nothing can go on after `spins` looks at a wait. Never blocks longer.
  Progress advance(std::uint32_t spins);
  /// The same, leaving an event for each step. `trace` has begun with this call; run_traced.hpp.
  Progress advance_traced(std::uint32_t spins, RunTrace& trace);

  std::uint64_t call() const { return call_; }
  const Executable& executable() const { return *executable_; }
  std::uint64_t flag() const { return call_ << 32 | history_; }

  /// Where the first unfinished lane stands, for diagnosis: the wait it is blocked on, or null.
  const ExecStep* blocked_step() const { return blocked_; }
  /// Whether that is a message link with this rank.
  bool waits_for(std::uint32_t rank) const;
  std::uint64_t blocked_piece() const { return blocked_piece_; }
  /// Where that is a wait for a signal: how many of that lane there have to be in this call.
  std::uint64_t awaited_signals() const { return (blocked_piece_ - blocked_->lag) * blocked_->stride + blocked_->position; }
  bool entered() const { return entered_; }
  /// Whether a rank that fails must know that this one touches its buffers no more: it may unmap them, or would find there what is written late.
  bool says_when_it_touches() const { return executable_->direct && (context_->homes.anywhere() || executable_->writes_peers); }
  /// A rank whose digest differs, after advance() said mismatch.
  std::uint32_t disagreeing_rank() const { return disagreeing_; }
  /// What the kernel could not copy from that rank's buffer, or to it, after advance() said mismatch.
  const Refusal& refusal() const { return refusal_; }
  /// Of calls that are checked, after advance() said mismatch.
  const Corruption& corruption() const { return corruption_; }
  /// all_to_all_v: whether its digest is right and its block is as long as this number of bytes, not as long as this rank expects.
  bool block_disagrees() const { return block_disagrees_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }
  /// The call that rank was in, where a message tells of it.
  ToldCall disagreeing_call() const;

 private:
  struct Cursor {
    std::uint64_t turn = 0;
    std::uint32_t step = 0;
    bool done = false;
  };
  /// Where an operand's next byte is: in a segment, or a run that begins at `begin`.
  struct Place {
    const Segment* segment = nullptr;
    std::uint64_t at = 0;  ///< where the move begins in the one buffer
    std::byte* begin = nullptr;
  };

  void aim_claims(const Context::Halves& halves);
  bool enter();
  void write_record();
  Progress agree(std::uint32_t spins);
  void finish();
  // Not inlined: measured as they are, and the loops of traced calls change nothing in those of the others.
  template <bool traced>
  [[gnu::noinline]] Progress advance_straight(std::uint32_t spins);
  template <bool traced>
  [[gnu::noinline]] Progress advance_lanes(std::uint32_t spins);
  template <bool traced>
  void keep_piece();
  template <bool traced>
  [[gnu::noinline]] Progress advance_lane(std::uint32_t lane, Cursor& cursor, std::uint32_t spins);
  template <bool traced>
  Progress step_as(const ExecStep& step, std::uint32_t lane, std::uint64_t turn, std::uint64_t piece, std::uint32_t spins);
  Progress step_traced(const ExecStep& step, std::uint32_t lane, std::uint64_t turn, std::uint64_t piece, std::uint32_t spins);
  TraceEvent event_of(const ExecStep& step, std::uint64_t piece) const;
  void record(const ExecStep& step, std::uint64_t piece, std::int64_t since, std::int64_t begin);
  void record_outside(std::int64_t end);
  Progress step_once(const ExecStep& step, std::uint32_t lane, std::uint64_t turn, std::uint64_t piece, std::uint32_t spins);
  Progress wait(const ExecStep& step, std::uint64_t piece, std::uint32_t spins);
  Progress signal(const ExecStep& step, std::uint32_t lane, std::uint64_t turn);
  Progress take_once(const ExecStep& step, std::uint64_t piece);
  void tell_buffers();
  Progress attach(const ExecStep& step);
  Progress fetch(const ExecStep& step, std::uint64_t piece);
  Progress put(const ExecStep& step, std::uint64_t piece);
  bool confirmed() const;
  bool confirmed(std::uint32_t rank) const;
  void move(const ExecStep& step, std::uint64_t piece);
  void bind_segments(const SegmentTable& table);
  void bind_apart(void* const* blocks);
  int find_in_peer(const ExecStep& step, const ExecOperand& operand, std::uint64_t& begin) const;
  void scatter();
  void move_listed(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes);
  void move_runs(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes, void** pointers);
  void move_run(const ExecStep& step, void** pointers, std::uint64_t bytes, StoreHints hints);
  void bind_blocks(const BlockTable& blocks);
  const Block& block_of(const ExecStep& step) const;
  bool ended(const ExecStep& step, std::uint64_t piece) const;
  Progress step_of_block(const ExecStep& step, std::uint64_t piece, std::uint32_t spins);
  Progress move_block(const ExecStep& step, std::uint64_t piece);
  bool agree(const ExecStep& step, std::uint64_t sent_bytes);
  bool by_rendezvous(const ExecStep& step) const;
  Progress fetch_block(const ExecStep& step, std::uint64_t place);
  Progress refused(std::uint32_t peer, std::uint32_t owner, std::uint64_t at, int failure);
  bool blocks_read(std::uint32_t spins);
  Progress inline_publish(const ExecStep& step);
  Progress inline_gather(const ExecStep& step, std::uint32_t spins);
  Progress inline_gather_many(const ExecStep& step, std::uint32_t spins);
  void inline_store(const ExecStep& step, void* const* sources, std::byte* result);
  void inline_result(const ExecStep& step, void* const* sources, std::byte* spare);
  bool links_idle();
  bool lingers() const;
  bool may_end(std::uint32_t spins);
  std::uint32_t channel_of(const ExecOperand& link) const;
  Progress checked_move(const ExecStep& step, std::uint64_t piece);
  void copy_checked(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes);
  void combine_checked(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes);
  void combine_sources(const ExecStep& step, void* const* sources, void* const* destinations, std::uint32_t destination_count, std::uint64_t bytes,
                       StoreHints hints);
  bool sums_on_the_way(const ExecStep& step) const;
  bool is_whole(std::byte* slot, std::uint64_t piece) const;
  void sign_slot(std::byte* slot, std::uint64_t bytes, std::uint64_t checksum) const;
  Progress corrupted(const Corruption& found);
  Progress corrupted_slot(const ExecOperand& operand, std::uint64_t piece);
  std::uint64_t checksum_of(const void* content, std::uint64_t bytes, std::uint64_t piece) const;
  Progress link_move(const ExecStep& step, std::uint64_t piece);
  Progress judge_sources(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes);
  Progress poll_line(std::uint32_t rank, const InlineLine& line, std::uint32_t spins);
  /// Where in its block an operand begins.
  std::uint64_t in_block(const ExecOperand& operand) const { return operand.offset - operand.block * executable_->block_bytes; }
  /// Where an operand in memory begins: in a call of one piece, where all of it is.
  std::byte* begin_of(const ExecOperand& operand) const {
    std::byte* const base = bases_[operand.base];
    if (is_list(base)) [[unlikely]] return listed_block(base, operand.block) + in_block(operand);
    return base + operand.offset;
  }
  /// Where a piece lies in the ring of slots.
  std::uint64_t slot_of(std::uint64_t piece) const { return piece == 0 ? first_slot_ : (first_slot_ + piece) % executable_->ring_slots; }
  std::byte* address(const ExecOperand& operand, std::uint64_t piece) const;
  void combine_wire(const ExecStep& step, const void* const* pointers, std::uint64_t bytes, StoreHints hints);
  void combine_and_copy(const ExecStep& step, void** pointers, std::uint64_t bytes, StoreHints hints);
  void combine(const ExecStep& step, const void* const* sources, void* const* destinations, std::uint32_t destination_count,
               std::uint64_t bytes, StoreHints hints);

  Context* context_ = nullptr;
  const Executable* executable_ = nullptr;
  std::byte** bases_ = nullptr;
  std::uint64_t call_ = 0;
  std::uint64_t parity_ = 0;
  std::uint64_t first_slot_ = 0;  ///< of this call, in the ring of its halves of the staging
  std::uint32_t digest_ = 0;    ///< of this call, for its record
  std::uint32_t history_ = 0;   ///< of all calls up to this one, for its flags
  std::uint32_t disagreeing_ = 0;
  std::uint32_t history_before_ = 0;
  bool entered_ = false;
  bool agreed_ = true;           ///< all ranks have entered this very call, or this one needn't know
  bool out_of_place_ = false;    ///< what is said of how user buffers are best written holds
  double scale_ = 1;
  const CallIdentity* identity_ = nullptr;
  const ExecStep* blocked_ = nullptr;
  std::uint64_t blocked_piece_ = 0;
  std::uint32_t step_ = 0;        ///< of a straight executable
  std::uint64_t pieces_ = 0;      ///< of the others
  std::uint64_t turns_ = 0;
  const SegmentTable* segments_ = nullptr;   ///< of a call on a list
  const SegmentTable* scattered_ = nullptr;  ///< of one that runs inlined: where the output goes in the end
  std::vector<std::byte> gathered_;          ///< likewise: its input and output, each in one place
  std::vector<Place> places_;                ///< of the operands of a step
  const BlockTable* blocks_ = nullptr;
  std::uint64_t sent_bytes_ = 0;
  Refusal refusal_;
  bool block_disagrees_ = false;
  Corruption corruption_;
  std::vector<Checksum> checksums_;  ///< of a step's sources, and of what it makes of them
  std::uint64_t kept_piece_ = 0;  ///< of the others: the next one of what the rank copies for itself
  std::vector<Cursor> cursors_;   ///< of the others, by lane
  RunTrace* trace_ = nullptr;     ///< of traced calls
};

using Run = BasicRun<true>;
extern template class BasicRun<true>;

}  // namespace rondo
