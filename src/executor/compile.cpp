#include "executor/compile.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "executor/blocks.hpp"
#include "executor/check_slots.hpp"
#include "executor/copy_run.hpp"
#include "executor/heard.hpp"
#include "executor/mark_stores.hpp"
#include "executor/rendezvous.hpp"
#include "executor/set_aside.hpp"
#include "executor/signal_table.hpp"
#include "executor/slot_writer.hpp"
#include "plan/ring.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t longest_message = 1u << 20;     ///< of a plan over message links that names no size of pieces
constexpr std::uint64_t least_kept_bytes = 16u << 10;  ///< below, a call of one piece is done sooner than its cursors are set up

Error too_small(const std::string& what, std::uint64_t need, std::uint64_t have) {
  return Error{Errc::unsupported, "the plan needs " + std::to_string(need) + " " + what + ", there are " + std::to_string(have)};
}

class Compiler {
 public:
  Compiler(const Plan& plan, const CompileRequest& request)
      : request_(request), header_(plan.header), element_(size_of(request.type)), tables_(plan.header.ranks), known_(plan.header.ranks, false) {
    out_.plan = plan;
  }

  Result<Executable> run() {
    program_ = out_.plan.program(request_.rank);
    tables_[request_.rank] = signals_of(program_);
    known_[request_.rank] = true;
    if (auto sized = size_pieces(); !sized) return sized.error();
    if (program_.lanes.size() > request_.layout.lanes) return too_small("lanes", program_.lanes.size(), request_.layout.lanes);
    std::uint32_t largest_skew = 0;
    for (std::uint32_t lane = 0; lane < program_.lanes.size(); ++lane) {
      attached_.assign(out_.direct ? header_.ranks : 0, no_step);
      unconfirmed_ = false;
      ExecLane exec{static_cast<std::uint32_t>(out_.steps.size()), 0, static_cast<std::uint32_t>(tables_[request_.rank].skews[lane].size())};
      if (auto done = compile_lane(lane, largest_skew); !done) return done.error();
      exec.steps = static_cast<std::uint32_t>(out_.steps.size()) - exec.first_step;
      out_.lanes.push_back(exec);
      if ((out_.pieces + largest_skew + 1) * exec.signals >= max_signals)
        return too_small("signals in one call", (out_.pieces + largest_skew + 1) * exec.signals, max_signals);
    }
    out_.turns = out_.pieces + largest_skew;
    out_.straight = out_.lanes.size() == 1 && out_.turns == 1 && !out_.by_blocks;
    finish_up();
    // What peers read where it lies must not be put off: of direct plans only those that fetch, and so read inputs.
    const bool long_enough = out_.fetches ? longest_ >= least_kept_bytes : out_.pieces > 1 && !out_.direct;
    if (long_enough && !has(ExecOp::once, 0)) set_aside_kept(out_);  // what others could do as well comes behind
    out_.straight = out_.straight && out_.kept.steps == 0;
    if (out_.by_blocks && !out_.checked && request_.rendezvous_from != 0) allow_rendezvous(out_, request_.rendezvous_from);
    if (out_.checked) check_slots(out_, request_);
    return std::move(out_);
  }

 private:
  std::uint64_t chunk_bytes(std::uint32_t chunk) const { return chunk_range(header_, request_.count, element_, chunk).count * element_; }

  Result<void> size_pieces() {
    out_.element_bytes = static_cast<std::uint32_t>(element_);
    out_.ring_slots = header_.depth;
    out_.inlined = header_.protocol == Protocol::inlined;
    out_.direct = header_.protocol == Protocol::direct && request_.direct;
    out_.fetches = out_.direct && request_.fetches;
    out_.agrees = out_.direct && request_.agrees;
    out_.checked = request_.checked;
    if (out_.checked && out_.inlined)
      return Error{Errc::unsupported, "plan '" + header_.algorithm + "' is inlined, and cache lines have no room for checksums (RONDO_INTEGRITY)"};
    if (header_.collective == Collective::all_to_all_v) return size_pieces_of_blocks();
    longest_ = header_.collective == Collective::barrier ? 0 : chunk_bytes(0);
    if (header_.wire)
      if (auto served = size_wire(); !served) return served;
    const std::uint64_t unit = std::uint64_t{64} << out_.wire_shift;  // so that slots are whole lines
    const std::uint64_t whole = std::max(unit, (longest_ + unit - 1) / unit * unit);
    out_.piece_bytes = header_.piece_bytes == 0 ? whole : std::max(unit, header_.piece_bytes / unit * unit);
    if (out_.inlined) {
      lines_per_chunk_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (longest_ + inline_payload - 1) / inline_payload));
      const std::uint64_t need = std::uint64_t{header_.scratch_chunks} * lines_per_chunk_;
      if (need > request_.layout.inline_lines) return too_small("inline lines", need, request_.layout.inline_lines);
      out_.piece_bytes = whole;
    } else if (header_.scratch_chunks > 0) {
      auto fits = slots_fit();
      if (!fits) return fits.error();
      out_.piece_bytes = std::min(out_.piece_bytes, *fits << out_.wire_shift);
    }
    // A plan that names no size means its slots'; where there are none, messages must be of some size that memory has room for.
    if (request_.reach != Reach::memory && header_.piece_bytes == 0) out_.piece_bytes = std::min(out_.piece_bytes, longest_message);
    out_.piece_bytes = std::min(out_.piece_bytes, whole);
    out_.slot_stride = (header_bytes() + slot_bytes()) * header_.scratch_chunks;
    out_.pieces = std::max<std::uint64_t>(1, (longest_ + out_.piece_bytes - 1) / out_.piece_bytes);
    form_ring();
    return {};
  }

  std::uint64_t slot_bytes() const { return out_.piece_bytes >> out_.wire_shift; }
  std::uint64_t header_bytes() const { return out_.by_blocks || out_.checked ? sizeof(SlotHeader) : 0; }

  /// The longest payload of a slot.
  Result<std::uint64_t> slots_fit() const {
    const std::uint64_t least = header_bytes() + 64, fits = request_.layout.half_bytes / header_.depth / header_.scratch_chunks / 64 * 64;
    if (fits < least) return too_small("bytes of staging", least * header_.depth * header_.scratch_chunks, request_.layout.half_bytes);
    return fits - header_bytes();
  }

  /// Lengths and pieces are those of the caller's elements; slots are shorter.
  Result<void> size_wire() {
    if (request_.type != DataType::f32)
      return Error{Errc::unsupported, "the plan has slots of " + std::string(to_string(*header_.wire)) + ", which serve f32"};
    out_.wire_kernel = cpu_kernels().wire[static_cast<std::size_t>(*header_.wire)];
    out_.wire_shift = 1;
    return {};
  }

  /// Nobody knows how long the blocks will be: a piece is as long as the slots allow, a call has as many as its longest block.
  Result<void> size_pieces_of_blocks() {
    out_.by_blocks = true;
    out_.piece_bytes = std::max<std::uint64_t>(64, (header_.piece_bytes == 0 ? 64u << 10 : header_.piece_bytes) / 64 * 64);
    out_.pieces = 1;
    if (header_.scratch_chunks == 0) return {};
    auto fits = slots_fit();
    if (!fits) return fits.error();
    out_.piece_bytes = std::min(out_.piece_bytes, *fits);
    out_.slot_stride = (header_bytes() + out_.piece_bytes) * header_.scratch_chunks;
    form_ring();
    return {};
  }

  /// A line that a peer has read is slow to write again until it has left that peer's caches: slots are taken in turn from more staging than the plan asks for.
  void form_ring() {
    constexpr std::uint64_t least_bytes = 2u << 10;  // of a call: below, what has just been written is soonest written again
    out_.writer = only_writer(out_.plan);
    const std::uint64_t needed = out_.by_blocks ? header_.depth : std::min<std::uint64_t>(header_.depth, out_.pieces);
    if (out_.writer == no_writer || request_.reach == Reach::messages || out_.slot_stride * needed < least_bytes) return;  // over messages nobody reads scratch
    const std::uint64_t room = std::min(ring_bytes_of(header_.collective, request_.ring_bytes), request_.layout.half_bytes) / out_.slot_stride;
    out_.ring_slots = std::max(needed, room);
    if (room >= needed) out_.slots_per_call = std::min(out_.pieces, out_.ring_slots);
  }

  Result<void> compile_lane(std::uint32_t lane, std::uint32_t& largest_skew) {
    std::uint32_t signals = 0;
    const auto& steps = program_.lanes[lane].steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Step& step = steps[s];
      largest_skew = std::max(largest_skew, step.skew);
      ExecStep exec;
      exec.skew = step.skew;
      exec.source_step = lane << 16 | static_cast<std::uint32_t>(std::min<std::size_t>(s, 0xffff));
      if (step.kind == StepKind::signal) {
        ++signals;
        if (out_.inlined) continue;  // the flag rides with the payload
        exec.op = ExecOp::signal;
        exec.position = signals;
        exec.stride = tables_[request_.rank].skews[lane].size();
        exec.begins = out_.agrees && signals == 1 && tables_[request_.rank].begin[lane];
        exec.confirms = std::exchange(unconfirmed_, false);
        out_.steps.push_back(exec);
      } else if (step.kind == StepKind::wait) {
        if (auto done = compile_wait(step, exec); !done) return done;
      } else {
        if (auto done = step.once ? compile_shared_out(step, exec) : compile_move(step, exec); !done) return done;
        if (auto done = out_.by_blocks ? assign_block(step) : Result<void>(); !done) return done;
      }
    }
    if (unassigned_ != out_.steps.size() && out_.by_blocks && has(ExecOp::wait, unassigned_)) return no_pair("a wait that no move follows");
    return {};
  }

  /// Before the copy itself it is asked who makes it.
  Result<void> compile_shared_out(const Step& step, const ExecStep& exec_base) {
    if (!request_.shares_out) return step.once->rank == request_.rank ? compile_move(step, exec_base) : Result<void>();
    const std::size_t once = out_.steps.size();
    ExecStep& exec = out_.steps.emplace_back(exec_base);
    exec.op = ExecOp::once;
    exec.rank = step.once->rank;
    exec.lane = step.once->index;
    auto done = compile_move(step, exec_base);
    out_.steps[once].lag = static_cast<std::uint32_t>(out_.steps.size() - once - 1);
    return done;
  }

  /// all_to_all_v: the move compiled last, and the waits before it, belong to the pair whose block it moves.
  Result<void> assign_block(const Step& step) {
    const Operand& from = step.sources.front();
    const Operand& to = step.destinations.front();
    const bool receives = from.buffer == Buffer::link || from.buffer == Buffer::scratch;
    const Operand& user = receives ? to : from;
    const bool users = user.buffer == Buffer::input || user.buffer == Buffer::output;
    if (!users || step.kind != StepKind::copy || step.destinations.size() != 1 || from.count != 1 || header_.chunks_per_block != 1)
      return no_pair("'" + describe(step) + "'");
    for (; unassigned_ < out_.steps.size(); ++unassigned_) {
      ExecStep& exec = out_.steps[unassigned_];
      exec.block = user.index;
      exec.receives = receives;
      if (exec.op == ExecOp::signal) continue;
      if (exec.op == ExecOp::wait) {
        if (exec.rank != user.index) return no_pair("a wait for rank " + std::to_string(exec.rank) + " before '" + describe(step) + "'");
        exec.op = ExecOp::block_wait;
      } else if (exec.op != ExecOp::link_move) {
        exec.op = ExecOp::block_move;
      }
    }
    return {};
  }

  bool has(ExecOp op, std::size_t first) const {
    return std::any_of(out_.steps.begin() + static_cast<std::ptrdiff_t>(first), out_.steps.end(), [op](const ExecStep& step) { return step.op == op; });
  }

  static Error no_pair(const std::string& what) {
    return Error{Errc::unsupported, "all_to_all_v needs plans whose steps each move one pair's block and wait for that pair alone; here is " + what};
  }

  Result<void> compile_wait(const Step& step, ExecStep& exec) {
    const WaitFor& wait = step.wait;
    if (wait.rank >= header_.ranks) return Error{Errc::invalid_plan, "a wait names rank " + std::to_string(wait.rank)};
    if (out_.inlined) return {};  // the gather that follows polls the flags of what it reads
    if (wait.rank != request_.rank) note_heard(wait.rank, wait.lag);
    if (!known_[wait.rank]) {
      tables_[wait.rank] = signals_of(out_.plan.program(wait.rank));
      known_[wait.rank] = true;
    }
    const auto& skews = tables_[wait.rank].skews;
    if (wait.lane >= skews.size() || wait.lane >= request_.layout.lanes)
      return Error{Errc::invalid_plan, "a wait names lane " + std::to_string(wait.lane) + " of rank " + std::to_string(wait.rank)};
    exec.op = ExecOp::wait;
    exec.rank = wait.rank;
    exec.lane = wait.lane;
    exec.lag = wait.lag;
    exec.stride = skews[wait.lane].size();
    // A signal that the lane never does (a broken plan run unverified) is waited for until the deadline.
    exec.position = wait.signal < skews[wait.lane].size() ? wait.signal + 1 + skews[wait.lane][wait.signal] * exec.stride : max_signals - 1;
    exec.begins = out_.agrees && wait.signal == 0 && tables_[wait.rank].begin[wait.lane];
    exec.check_digest = wait.rank != request_.rank && wait.lag == 0;
    if (out_.direct && exec.check_digest && (attached_[wait.rank] == no_step || exec.skew < out_.steps[attached_[wait.rank]].skew))
      attached_[wait.rank] = out_.steps.size();
    out_.steps.push_back(exec);
    return {};
  }

  /// A peer's buffer is where the wait that stands before its first use finds it.
  Result<ExecOperand> compile_peer_operand(const Operand& operand, std::uint32_t chunk, ExecStep& step) {
    const bool output = operand.buffer == Buffer::output;
    if (!out_.direct) return Error{Errc::unsupported, "the plan touches a peer's user buffer; insert_shadows first"};
    const std::size_t wait = attached_[operand.rank];
    if (wait == no_step || out_.steps[wait].skew > step.skew)
      return Error{Errc::unsupported,
                   "the plan reads a buffer of rank " + std::to_string(operand.rank) + " before it waits for that rank; insert_shadows first"};
    out_.steps[wait].attaches |= output ? reads_output : reads_input;
    if (std::find(out_.reads.begin(), out_.reads.end(), operand.rank) == out_.reads.end()) out_.reads.push_back(operand.rank);
    unconfirmed_ = true;
    ExecOperand exec;
    exec.base = base_of_peer(header_.ranks, operand.rank, output);
    place_in_buffer(exec, operand.index + chunk, step);
    return exec;
  }

  /// Also narrows the step's length to the user chunk's: verified steps combine equal lengths; others stay within bounds.
  void place_in_buffer(ExecOperand& exec, std::uint32_t index, ExecStep& step) const {
    const ElementRange range = chunk_range(header_, request_.count, element_, index);
    exec.offset = range.begin * element_;
    exec.block = index / header_.chunks_per_block;
    step.chunk_bytes = std::min(step.chunk_bytes, range.count * element_);
  }

  void note_heard(std::uint32_t rank, std::uint32_t lag) {
    if (lag != 0) return;  // only heard from when there are pieces enough
    if (std::find(out_.hears.begin(), out_.hears.end(), rank) == out_.hears.end()) out_.hears.push_back(rank);
  }

  Result<void> compile_move(const Step& step, const ExecStep& exec_base) {
    std::uint32_t chunks = 1;
    for (const Operands* operands : {&step.sources, &step.destinations})
      for (const Operand& operand : *operands)
        if (operand.buffer != Buffer::link) chunks = std::max(chunks, operand.count);
    const bool premultiplies = request_.op == ReduceOp::premul_sum && is_reduction(header_.collective);
    const std::uint64_t whole = out_.direct && out_.pieces == 1 ? bytes_of_run(header_, request_.count, element_, step) : 0;
    longest_run_ = std::max(longest_run_, whole);
    for (std::uint32_t chunk = 0; chunk < (whole != 0 ? 1 : chunks); ++chunk) {
      ExecStep one = exec_base;
      one.finish = step.finish;
      one.first_operand = static_cast<std::uint32_t>(out_.operands.size());
      one.sources = static_cast<std::uint16_t>(step.sources.size());
      one.destinations = static_cast<std::uint16_t>(step.destinations.size());
      one.chunk_bytes = longest_;
      bool scaled = false, links = false, inlines = false, fetched = false, put = false;
      for (std::size_t i = 0; i < step.sources.size() + step.destinations.size(); ++i) {
        const bool source = i < step.sources.size();
        const Operand& operand = source ? step.sources[i] : step.destinations[i - step.sources.size()];
        const bool foreign = operand.buffer != Buffer::link && operand.buffer != Buffer::scratch && operand.rank != self && operand.rank != request_.rank;
        if (foreign && (source ? premultiplies : !out_.direct))
          return Error{Errc::unsupported, source ? "the plan reads a peer's input, whose factor is not known; insert_shadows first"
                                                 : "the plan writes a peer's output; insert_shadows first"};
        (source ? fetched : put) |= foreign && request_.fetches;
        out_.writes_peers |= foreign && !source;
        if (foreign) one.rank = operand.rank;
        auto compiled = compile_operand(operand, chunk, one);
        if (!compiled) return compiled.error();
        compiled->contribution = source && premultiplies && operand.buffer == Buffer::input;
        scaled |= compiled->contribution;
        links |= compiled->kind == ExecOperand::link;
        inlines |= compiled->kind == ExecOperand::inline_line;
        // Polled, and so heard: not by a wait, which may stand for lines that this rank never reads.
        if (source && compiled->kind == ExecOperand::inline_line && compiled->base != request_.rank) note_heard(compiled->base, 0);
        out_.operands.push_back(*compiled);
      }
      one.reduces = step.kind == StepKind::reduce || scaled || (step.finish && request_.op == ReduceOp::avg && header_.ranks > 1);
      one.op = one.reduces ? ExecOp::reduce : fetched ? ExecOp::fetch : put ? ExecOp::put : ExecOp::copy;
      if ((fetched || put) && (one.reduces || links || inlines || step.sources[0].buffer != Buffer::input || (put && (fetched || one.destinations != 1))))
        return Error{Errc::unsupported, "the plan does more than copy an input to a peer's buffer or from it, as the kernel can; insert_shadows first"};
      if (links) one.op = ExecOp::link_move;
      out_.links |= links;
      if (inlines) one.op = is_plain_publish(step, one) ? ExecOp::inline_publish : ExecOp::inline_gather;
      if (whole != 0) one.chunk_bytes = whole;
      out_.steps.push_back(one);
    }
    return {};
  }

  bool is_plain_publish(const Step& step, const ExecStep& one) const {
    return !one.reduces && step.destinations.size() == 1 && step.destinations[0].buffer == Buffer::scratch && step.sources[0].buffer != Buffer::scratch;
  }

  Result<ExecOperand> compile_operand(const Operand& operand, std::uint32_t chunk, ExecStep& step) {
    ExecOperand exec;
    const std::uint32_t rank = operand.rank == self ? request_.rank : operand.rank;
    const std::uint32_t index = operand.index + chunk;
    switch (operand.buffer) {
      case Buffer::input:
      case Buffer::output: {
        if (rank != request_.rank) return compile_peer_operand(operand, chunk, step);
        exec.base = operand.buffer == Buffer::input ? base_input : base_output;
        place_in_buffer(exec, index, step);
        return exec;
      }
      case Buffer::scratch:
        if (out_.inlined) {
          exec.kind = ExecOperand::inline_line;
          exec.offset = std::uint64_t{index} * lines_per_chunk_;
          exec.base = rank;
        } else {
          exec.kind = ExecOperand::slot;
          exec.offset = index * (header_bytes() + slot_bytes()) + header_bytes();
          exec.base = base_staging + rank;
        }
        return exec;
      case Buffer::link:
        exec.kind = ExecOperand::link;
        exec.base = operand.rank;
        exec.offset = operand.index;
        return exec;
    }
    return Error{Errc::invalid_plan, "unknown buffer"};
  }

  void finish_up() {
    const BlockCounts blocks = block_counts(header_.collective, header_.ranks);
    out_.block_bytes = request_.count * element_;
    out_.input_bytes = out_.block_bytes * blocks.input;
    out_.output_bytes = out_.block_bytes * blocks.output;
    if (out_.input_bytes < out_.output_bytes) out_.input_in_output = static_cast<std::int64_t>(request_.rank * out_.input_bytes);
    if (out_.output_bytes < out_.input_bytes) out_.input_in_output = -static_cast<std::int64_t>(request_.rank * out_.output_bytes);
    out_.piece_bytes = std::max(out_.piece_bytes, longest_run_);  // of the one piece that there is
    out_.hears_all = out_.hears.size() + 1 == header_.ranks || (request_.proved && ends_after_all_began(header_, request_.rank));
    out_.kernel = is_reduction(header_.collective) ? cpu_kernels().get(request_.op, request_.type) : nullptr;
    out_.divisor = request_.op == ReduceOp::avg && header_.ranks > 1 ? header_.ranks : 0;
    out_.plan_hash = request_.plan_hash;
    out_.copies_beat_stores = request_.copies_beat_stores;
    mark_stores(out_, request_);
  }

  const CompileRequest& request_;
  const PlanHeader header_;
  const std::size_t element_;
  Executable out_;
  Program program_;
  std::vector<SignalTable> tables_;
  std::vector<bool> known_;
  std::uint64_t longest_ = 0, longest_run_ = 0;
  std::uint32_t lines_per_chunk_ = 1;
  static constexpr std::size_t no_step = ~std::size_t{0};
  std::vector<std::size_t> attached_;  // direct plans, of the lane that is compiled: by rank, the wait that finds its buffers
  bool unconfirmed_ = false;           // likewise: peers' buffers were read since the last signal
  std::size_t unassigned_ = 0;  // all_to_all_v: the first step whose pair isn't known yet
};

}  // namespace

Result<Executable> compile(const Plan& plan, const CompileRequest& request) {
  return Compiler(plan, request).run();
}

}  // namespace rondo
