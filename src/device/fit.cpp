#include "device/fit.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "device/shared.hpp"
#include "executor/compile.hpp"

namespace rondo::device {

static_assert(cells_per_line * cell_payload == inline_payload, "the compiler counts lines, blocks go by cells");

namespace {

constexpr std::uint64_t least_thread_bytes = 32;     ///< a block moves fewer for each of its threads sooner than another one would have begun
constexpr std::uint32_t inlined_threads = 128;        ///< a few cells are all they have to do, and barriers cost less
constexpr std::uint64_t slot_unit = 64;                ///< slots begin at such addresses
constexpr std::uint64_t most_piece_bytes = 256u << 10;  ///< of what is staged

Error no_form(const std::string& what) { return Error{Errc::unsupported, what, 0, "device"}; }

Error exceeds(const Plan& plan, const std::string& what, std::uint64_t need, std::uint64_t have) {
  return no_form("plan '" + plan.header.algorithm + "' needs " + std::to_string(need) + " " + what + ", there are " + std::to_string(have) + " on a GPU");
}

DeviceLane part_of(const Executable& exec, const ExecLane& lane) {
  DeviceLane part{lane.first_step, lane.steps, 0, 0};
  std::uint32_t last = 0;
  for (std::uint32_t s = lane.first_step; s < lane.first_step + lane.steps; ++s) {
    const ExecStep& step = exec.steps[s];
    const std::uint32_t operands = std::uint32_t{step.sources} + step.destinations;
    if (operands == 0) continue;
    if (last == 0) part.first_operand = step.first_operand;
    last = step.first_operand + operands;  // operands are compiled in the order of the steps
  }
  part.operands = last == 0 ? 0 : last - part.first_operand;
  return part;
}

/// The most of any rank: slices are cut alike everywhere.
std::uint64_t most_lanes(const Plan& plan) {
  std::size_t lanes = 1;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) lanes = std::max(lanes, plan.program(rank).lanes.size());
  return lanes;
}

Result<void> check_limits(const Plan& plan, const Fitted& fitted) {
  for (const ExecStep& step : fitted.executable.steps) {
    const std::uint64_t operands = std::uint64_t{step.sources} + step.destinations;
    if (operands > max_operands) return exceeds(plan, "operands of a step", operands, max_operands);
    const std::uint64_t room = (step.chunk_bytes + 15) / 16 * 16 * (step.sources + 1u);
    if (fitted.executable.inlined && room > inline_room) return exceeds(plan, "bytes of shared memory for an inlined step", room, inline_room);
  }
  return {};
}

/// What a block takes for granted of a list: it looks for the tensor once a step, and inlined steps don't look.
Result<void> check_list(const Plan& plan, const Executable& exec) {
  const std::string name = "plan '" + plan.header.algorithm + "'";
  if (exec.inlined) return no_form(name + " is inlined, and takes no list");
  for (const ExecStep& step : exec.steps) {
    std::optional<std::uint64_t> place;
    for (std::uint32_t i = 0; i < std::uint32_t{step.sources} + step.destinations; ++i) {
      const ExecOperand& operand = exec.operands[step.first_operand + i];
      if (operand.kind != ExecOperand::user) continue;
      if (operand.base > base_output) return no_form(name + " reads peers' buffers, and takes no list");
      if (place.value_or(operand.offset) != operand.offset) return no_form(name + " has a step on two parts of a buffer, and takes no list");
      place = operand.offset;
    }
  }
  return {};
}

/// Bytes at the beginning of the input.
std::uint32_t published_first(const Executable& exec) {
  if (exec.steps.empty()) return 0;
  const ExecStep& first = exec.steps.front();
  const bool of_input = first.op == ExecOp::inline_publish && exec.operands[first.first_operand].base == base_input;
  return of_input ? static_cast<std::uint32_t>(first.chunk_bytes) : 0;
}

}  // namespace

Result<Fitted> fit(const Plan& plan, const FitRequest& request) {
  const PlanHeader& header = plan.header;
  if (header.collective == Collective::all_to_all_v) return no_form("all_to_all_v has no form on GPUs yet; all_to_all has");
  if (header.ranks > max_ranks) return exceeds(plan, "ranks", header.ranks, max_ranks);
  const std::uint64_t lanes = most_lanes(plan);
  if (lanes > std::min(max_lanes, request.blocks)) return exceeds(plan, "lanes, a block each", lanes, std::min(max_lanes, request.blocks));

  const std::size_t element = size_of(request.type);
  const std::uint64_t longest = header.collective == Collective::barrier ? 0 : chunk_range(header, request.count, element, 0).count * element;
  const std::uint64_t side_by_side = std::min<std::uint64_t>(max_slices, request.blocks / lanes);
  const std::uint64_t least_slice = request.threads * least_thread_bytes;
  // Slices share the staging: no more of them than it has room for, at a line of each slot.
  const std::uint64_t least_staging = std::uint64_t{header.depth} * header.scratch_chunks * slot_unit;
  const bool shared = least_staging != 0 && request.slice_bytes == 0;
  const std::uint64_t fitting = shared ? std::max<std::uint64_t>(1, request.layout.half_bytes / least_staging) : side_by_side;
  const std::uint64_t wanted = std::clamp<std::uint64_t>((longest + least_slice - 1) / least_slice, 1, std::min(side_by_side, fitting));
  Plan shaped = plan;
  const bool whole = header.protocol == Protocol::direct && header.piece_bytes != 0;  // nothing is staged, and the plan says how long pieces may be
  const std::uint64_t limit = request.piece_bytes != 0 ? request.piece_bytes : whole ? header.piece_bytes : most_piece_bytes;
  shaped.header.piece_bytes = static_cast<std::uint32_t>(std::min(limit, (longest / wanted + 63) / 64 * 64 + 64));

  CompileRequest compiled;
  compiled.rank = request.rank;
  compiled.count = request.count;
  compiled.type = request.type;
  compiled.op = request.op;
  compiled.layout.lanes = max_lanes;
  compiled.layout.inline_lines = inline_lines;
  const std::uint64_t slice_bytes = request.slice_bytes != 0 ? request.slice_bytes : request.layout.half_bytes / wanted;
  compiled.layout.half_bytes = slice_bytes / slot_unit * slot_unit;
  compiled.plan_hash = request.plan_hash;
  compiled.direct = request.direct;
  compiled.shares_out = false;
  auto executable = compile(shaped, compiled);
  if (!executable) return executable.error();
  if (executable->links) return no_form("plan '" + header.algorithm + "' sends messages, which GPUs don't");

  Fitted fitted;
  fitted.slices = static_cast<std::uint32_t>(std::min(wanted, executable->pieces));
  fitted.slice_bytes = compiled.layout.half_bytes;
  for (const ExecStep& step : executable->steps) fitted.skew = std::max<std::uint64_t>(fitted.skew, step.skew);
  fitted.threads = executable->inlined ? std::min(request.threads, inlined_threads) : request.threads;
  fitted.executable = std::move(*executable);
  if (auto within = check_limits(plan, fitted); !within) return within.error();
  if (!request.listed) return fitted;
  if (auto served = check_list(plan, fitted.executable); !served) return served.error();
  return fitted;
}

Job job_of(const Fitted& fitted, const Group& group, ReduceOp op) {
  const Executable& exec = fitted.executable;
  Job job;
  job.group = group;
  for (std::size_t lane = 0; lane < exec.lanes.size(); ++lane) job.lanes[lane] = part_of(exec, exec.lanes[lane]);
  job.kept = part_of(exec, exec.kept);
  job.lane_count = static_cast<std::uint32_t>(exec.lanes.size());
  job.slices = fitted.slices;
  job.threads = fitted.threads;
  job.slice_bytes = fitted.slice_bytes;
  job.pieces = exec.pieces;
  job.skew = fitted.skew;
  job.piece_bytes = exec.piece_bytes;
  job.slot_stride = exec.slot_stride;
  job.ring_slots = exec.ring_slots;
  job.element_bytes = exec.element_bytes;
  job.divisor = exec.divisor;
  job.op = op;
  job.hears_all = exec.hears_all;
  job.inlined_bytes = published_first(exec);
  return job;
}

}  // namespace rondo::device
