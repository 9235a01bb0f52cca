// A block's way through its lane of a call: the same steps that run_steps.hpp interprets on processors. A `Block` is what differs between a GPU
// and the threads by which tests run it: its threads, their barrier, words that other ranks see, time.
#pragma once

#include <cstdint>

#include "device/job.hpp"
#include "device/list.hpp"
#include "device/shared.hpp"
#include "device/watch.hpp"
#include "executor/call_numbers.hpp"
#include "kernels/cuda/host_device.hpp"
#include "kernels/cuda/lanes.hpp"
#include "rondo/kernels.hpp"

namespace rondo::device {

/// In the place of an element type: f32 whose slots hold W.
template <class W>
struct OnWire {
  using Wire = W;
};

template <class Element>
concept IsOnWire = requires { typename Element::Wire; };

/// A lane in a slice. `Element` is what reductions combine; of calls that combine nothing, any. `listed`: the call's buffers are the list's tensors.
template <class Element, class Block, bool listed = false>
class Walk : private Watch<Block> {
 public:
  RONDO_HD Walk(Block& block, const Job& job, std::uint32_t lane, std::uint32_t slice, List list = {})
      : Watch(block, job, slice), lane_(lane), list_(list) {
    pieces_ = job.pieces > slice ? (job.pieces - slice + job.slices - 1) / job.slices : 0;
  }

  /// False: this block has stopped, its rank has failed, or the call has parts to come.
  RONDO_HD bool run() {
    if (!enter()) return false;
    if (!run_lane()) return false;
    if (!job_.last_part) return false;
    if (lane_ == 0) copy_kept();
    finish();
    return true;
  }

 private:
  using Watch = device::Watch<Block>;
  using Watch::block_, Watch::shared_, Watch::job_, Watch::slice_, Watch::call_;
  using Watch::words, Watch::state, Watch::line, Watch::poll, Watch::fail;

  /// False: this rank has failed before, or does now.
  RONDO_HD bool enter() {
    const Group& group = job_.group;
    RankWords& own = words(group.rank);
    load_program();
    if (block_.thread() * sizeof(std::uint64_t) < job_.inlined_bytes) block_.bring_near(job_.input + block_.thread() * sizeof(std::uint64_t));
    if (block_.thread() == 0) {
      const std::uint64_t call = own.call + 1;
      shared_.call = call;
      shared_.flag = call << 32 | chained(static_cast<std::uint32_t>(own.history), job_.digest);
      shared_.entered = call <= 2 || own.entered_by_all + 1 >= call;
      shared_.usable = block_.load_relaxed(state(group.rank)) == 0;
      shared_.place = own.place;
      if (lane_ == 0 && (slice_ == 0 || group.is_pair)) start(own, call);
    }
    block_.sync();
    call_ = shared_.call;
    parity_ = call_ & 1;
    if (!shared_.usable) return false;
    for (std::uint32_t r = block_.thread(); r < group.ranks; r += block_.threads())
      shared_.bases[base_staging + r] = group.areas[r] + group.layout.staging(parity_) + slice_ * job_.slice_bytes;
    if (block_.thread() == 0) {
      shared_.bases[base_input] = const_cast<std::byte*>(job_.input);
      shared_.bases[base_output] = job_.output;
    }
    bool failed = false;
    // Before it writes what call - 2 read, its line and slots and cells: everybody has finished that one.
    if (!shared_.entered)
      for (std::uint32_t r = block_.thread(); r < group.ranks; r += block_.threads())
        if (r != group.rank) failed |= !poll(&words(r).started, call_ - 1, r, 0, 0);
    if (block_.any(failed)) return leave(0, 0);
    if (block_.thread() == 0) introduce();
    return true;
  }

  /// Pairs with the peers' poll of it in enter().
  RONDO_HD void start(RankWords& own, std::uint64_t call) {
    if (job_.follows) return block_.store_release(&own.started, call);
    block_.store_at_start(&own.started, call);  // what this rank's calls before did lies before it without a release: those kernels have ended
  }

  /// A wait has failed, or there is nothing yet where blocks don't wait. False.
  RONDO_HD bool leave(std::uint64_t turn, std::uint32_t step) {
    if (!job_.stops || block_.thread() != 0) return false;
    const Group& group = job_.group;
    RankWords& own = words(group.rank);
    const std::uint64_t place = turn << 32 | step;
    if (place != own.place) block_.store_relaxed(&group.host->moved, 1);
    own.place = place;
    block_.store_relaxed(&group.host->waiting, 1 + std::uint64_t{group.pair.ranks[1 - group.rank]});
    return false;
  }

  /// What peers find in this block's line behind its first signal.
  RONDO_HD void introduce() {
    LaneWords& mine = line(job_.group.rank, lane_);
    block_.store_relaxed(&mine.digest[parity_], shared_.flag);
    block_.store_relaxed(&mine.buffers[parity_][0], reinterpret_cast<std::uintptr_t>(job_.input));
    block_.store_relaxed(&mine.buffers[parity_][1], reinterpret_cast<std::uintptr_t>(job_.output));
  }

  /// This lane's steps into memory that is near, where they fit: a step less that is far at every turn.
  RONDO_HD void load_program() {
    const DeviceLane& lane = job_.lanes[lane_];
    const ExecStep* steps = job_.steps + lane.first_step;
    const ExecOperand* operands = job_.operands + lane.first_operand;
    const std::uint32_t step_bytes = lane.steps * static_cast<std::uint32_t>(sizeof(ExecStep));
    const std::uint32_t operand_bytes = lane.operands * static_cast<std::uint32_t>(sizeof(ExecOperand));
    if (step_bytes + operand_bytes <= program_room) {
      copy_words(shared_.program, steps, step_bytes);
      copy_words(shared_.program + step_bytes, operands, operand_bytes);
      steps = reinterpret_cast<const ExecStep*>(shared_.program);
      operands = reinterpret_cast<const ExecOperand*>(shared_.program + step_bytes);
    }
    steps_ = steps;
    operands_ = operands;
    first_operand_ = lane.first_operand;
  }

  RONDO_HD void copy_words(std::byte* to, const void* from, std::uint32_t bytes) {
    // The first thread has other words to fetch meanwhile, and comes last.
    for (std::uint32_t i = block_.threads() - 1 - block_.thread(); i < bytes / 8; i += block_.threads())
      reinterpret_cast<std::uint64_t*>(to)[i] = static_cast<const std::uint64_t*>(from)[i];
  }

  RONDO_HD const ExecOperand& operand(const ExecStep& step, std::uint32_t i) const { return operands_[step.first_operand - first_operand_ + i]; }

  RONDO_HD bool run_lane() {
    const std::uint32_t all_steps = job_.lanes[lane_].steps;
    const std::uint64_t all_turns = pieces_ == 0 ? 0 : pieces_ + job_.skew;
    LanePart part{0, 0, static_cast<std::uint32_t>(all_turns), 0};
    if (job_.parts != nullptr) part = job_.parts[lane_];
    if (job_.stops) {
      part.begin_turn = static_cast<std::uint32_t>(shared_.place >> 32);
      part.begin_step = static_cast<std::uint32_t>(shared_.place);
    }
    for (std::uint64_t turn = part.begin_turn; turn < all_turns && turn <= part.end_turn; ++turn) {
      const std::uint32_t steps = turn == part.end_turn ? part.end_step : all_steps;
      for (std::uint32_t s = turn == part.begin_turn ? part.begin_step : 0; s < steps;) {
        const ExecStep& step = steps_[s];
        if (step.op == ExecOp::wait) {
          std::uint32_t waits = 1;
          while (s + waits < steps && steps_[s + waits].op == ExecOp::wait) ++waits;
          if (!wait_all(s, waits, turn)) return leave(turn, s);
          s += waits;
          continue;
        }
        ++s;
        const std::uint64_t piece = turn - step.skew;
        if (turn < step.skew || piece >= pieces_) continue;
        if (step.op == ExecOp::signal) {
          signal(step, turn);
        } else if (step.op == ExecOp::copy || step.op == ExecOp::reduce) {
          move(step, piece);
        } else if constexpr (may_be_inlined) {
          if (!inline_move(step)) return false;
        }
      }
    }
    return true;
  }

  RONDO_HD void signal(const ExecStep& step, std::uint64_t turn) {
    block_.sync();
    // pairs with poll() of those who wait for it: publishes what all threads of this block wrote, and the line's digest and buffers
    if (block_.thread() == 0)
      block_.store_release(&line(job_.group.rank, lane_).progress, (call_ << progress_call_shift) + turn * step.stride + step.position);
  }

  /// Waits that follow one another: a thread each.
  RONDO_HD bool wait_all(std::uint32_t first, std::uint32_t waits, std::uint64_t turn) {
    bool failed = false;
    for (std::uint32_t w = block_.thread(); w < waits; w += block_.threads()) {
      const ExecStep& step = steps_[first + w];
      const std::uint64_t piece = turn - step.skew;
      if (turn < step.skew || piece >= pieces_ || piece < step.lag) continue;
      failed |= !wait(step, piece);
    }
    return !block_.any(failed);
  }

  RONDO_HD bool wait(const ExecStep& step, std::uint64_t piece) {
    const std::uint64_t target = (call_ << progress_call_shift) + (piece - step.lag) * step.stride + step.position;
    LaneWords& theirs = line(step.rank, step.lane);
    if (!poll(&theirs.progress, target, step.rank, step.source_step, piece)) return false;
    if (step.check_digest && block_.load_relaxed(&theirs.digest[parity_]) != shared_.flag)
      return fail(Outcome::mismatch, step.rank, step.source_step, piece, target, 0);
    // Whoever has failed gives its buffers back: they are touched right after this look, or not at all.
    if (step.attaches != 0 && block_.load_relaxed(state(step.rank)) != 0)
      return fail(Outcome::peer_failed, step.rank, step.source_step, piece, target, 0);
    if (step.attaches != 0 && piece == 0)
      for (std::uint32_t output = 0; output < 2; ++output)
        shared_.bases[base_of_peer(job_.group.ranks, step.rank, output != 0)] =
            reinterpret_cast<std::byte*>(block_.load_relaxed(&theirs.buffers[parity_][output]));
    return true;
  }

  /// What lies in one place of the caller's buffers: so many bytes from byte `done` of a piece on. Of a list: in `segment`, from byte `at` of all on.
  struct Run {
    const Segment* segment;
    std::uint64_t at;
    std::uint64_t done;
    std::uint64_t bytes;
  };
  RONDO_HD void move(const ExecStep& step, std::uint64_t piece);
  RONDO_HD void move_listed(const ExecStep& step, std::uint64_t piece, std::uint64_t begin, std::uint64_t bytes);
  RONDO_HD void move_run(const ExecStep& step, std::uint64_t piece, const Run& run);
  RONDO_HD std::byte* address(const ExecOperand& operand, std::uint64_t piece, const Run& run) const;
  template <class Call>
  RONDO_HD Call kernel_call(const ExecStep& step, void* const* pointers, std::uint64_t bytes) const;
  RONDO_HD void write_call(KernelCall& call, const ExecStep& step, void* const* pointers, std::uint64_t bytes) const;
  RONDO_HD void write_call(WireCall& call, const ExecStep& step, void* const* pointers, std::uint64_t bytes) const;
  RONDO_HD static void copy(void* const* pointers, std::uint32_t total, std::uint64_t bytes, cuda::Lanes lanes);

  RONDO_HD void copy_kept() {
    steps_ = job_.steps + job_.kept.first_step;
    operands_ = job_.operands + job_.kept.first_operand;
    first_operand_ = job_.kept.first_operand;
    for (std::uint64_t piece = 0; piece < pieces_; ++piece)
      for (std::uint32_t s = 0; s < job_.kept.steps; ++s) move(steps_[s], piece);
  }

  /// The last block counts the call, of a pair each slice's: those that come later in the stream see it.
  RONDO_HD void finish() {
    if (block_.thread() != 0) return;
    RankWords& own = words(job_.group.rank);
    const std::uint64_t blocks = std::uint64_t{job_.lane_count} * (job_.group.is_pair ? 1 : job_.slices);
    if (blocks > 1) {
      if (block_.add(&own.arrivals, 1) + 1 != blocks) return;
      own.arrivals = 0;
    }
    own.history = shared_.flag & 0xffffffff;
    if (job_.hears_all) own.entered_by_all = call_;
    own.call = call_;
    if (!job_.stops) return;
    own.place = 0;
    block_.store_relaxed(&job_.group.host->moved, 1);
  }

  RONDO_HD bool inline_move(const ExecStep& step);
  RONDO_HD void publish(const ExecStep& step);
  RONDO_HD bool take_in(const ExecStep& step, std::uint32_t padded);
  RONDO_HD void give_out(const ExecStep& step, const std::byte* result);
  RONDO_HD Cell* cells_of(const ExecOperand& operand) const;

  static constexpr bool may_be_inlined = !listed && !IsOnWire<Element>;  ///< fit() sees to it
  const std::uint32_t lane_;
  const List list_;
  const ExecStep* steps_ = nullptr;        ///< of the lane
  const ExecOperand* operands_ = nullptr;  ///< likewise, from number first_operand_ on
  std::uint32_t first_operand_ = 0;
  std::uint64_t pieces_ = 0;  ///< of this slice
  std::uint64_t parity_ = 0;
  std::uint32_t turn_over_ = 0;
  bool room_used_ = false;  ///< Shared::inlined
};

}  // namespace rondo::device

#include "device/walk_inline.hpp"
#include "device/walk_moves.hpp"
