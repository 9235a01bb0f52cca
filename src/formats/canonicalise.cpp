#include "formats/canonicalise.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "formats/dataflow.hpp"
#include "formats/limits.hpp"
#include "formats/schedule.hpp"

namespace rondo::formats {
namespace {

bool moves_data(const Step& step) {
  return step.kind == StepKind::copy || step.kind == StepKind::reduce;
}

std::uint64_t count_accesses(const std::vector<Program>& programs) {
  std::uint64_t accesses = 0;
  for (const Program& program : programs) {
    for (const Lane& lane : program.lanes) {
      for (const Step& step : lane.steps) {
        for (const Operand& operand : step.sources) accesses += operand.count;
        for (const Operand& operand : step.destinations) accesses += operand.count;
      }
    }
  }
  return accesses;
}

/// Whether every step moves one chunk.
bool single_chunks(const std::vector<Program>& programs) {
  for (const Program& program : programs)
    for (const Lane& lane : program.lanes)
      for (const Step& step : lane.steps)
        if (moves_data(step) && step.destinations.front().count != 1) return false;
  return true;
}

/// Every step over n chunks becomes n steps of one chunk, on both ends of every link alike.
void split_into_chunks(Program& program) {
  std::vector<std::vector<std::uint32_t>> last(program.lanes.size());  // old step → its last new one
  for (std::size_t l = 0; l < program.lanes.size(); ++l) {
    std::vector<Step> steps;
    for (Step& step : program.lanes[l].steps) {
      const std::uint32_t chunks = moves_data(step) ? step.destinations.front().count : 1;
      for (std::uint32_t j = 0; j < chunks; ++j) {
        Step part = step;
        if (j > 0) part.after.clear();
        for (Operands* operands : {&part.sources, &part.destinations}) {
          for (Operand& operand : *operands) {
            operand.count = 1;
            if (operand.buffer != Buffer::link) operand.index += j;
          }
        }
        steps.push_back(std::move(part));
      }
      last[l].push_back(static_cast<std::uint32_t>(steps.size() - 1));
    }
    program.lanes[l].steps = std::move(steps);
  }
  for (Lane& lane : program.lanes) {
    for (Step& step : lane.steps) {
      for (After& after : step.after) after.step = last[after.lane][after.step];
    }
  }
}

class Rewriter {
 public:
  /// `schedule` is the programs', of any depth of links.
  Rewriter(const PlanHeader& header, std::vector<Program> programs, const Schedule& schedule)
      : header_(header),
        one_memory_(header.in_place && !header.out_of_place),
        cells_(header, one_memory_),
        full_(full(header.ranks)),
        result_(std::move(programs)) {
    Dataflow dataflow(cells_);
    for (const StepRef& at : schedule.order) {
      Step& step = result_[at.rank].lanes[at.lane].steps[at.step];
      if (moves_data(step)) rewrite(at.rank, step, dataflow.apply(at.rank, step));
    }
  }

  /// False when some step's chunks go to different places: the programs have to be split first.
  bool uniform() const { return uniform_; }

  /// The rewritten programs; makes room in scratch for what has no other place.
  std::vector<Program> take(PlanHeader& header) {
    if (places_.empty()) return std::move(result_);
    std::vector<std::uint32_t> numbers(places_.begin(), places_.end());
    for (Program& program : result_) {
      for (Lane& lane : program.lanes) {
        for (Step& step : lane.steps) {
          for (Operands* operands : {&step.sources, &step.destinations}) {
            for (Operand& operand : *operands) pack(operand, numbers);
          }
        }
      }
    }
    header.scratch_chunks += static_cast<std::uint32_t>(numbers.size());
    return std::move(result_);
  }

 private:
  struct Place {
    Buffer buffer;
    std::uint32_t index;
    bool operator==(const Place&) const = default;
  };

  void rewrite(std::uint32_t rank, Step& step, const Flow& flow) {
    for (std::size_t k = 0; k < step.sources.size(); ++k) {
      relocate(step.sources[k], rank, [&](std::uint32_t j) { return flow.sources[k][j].written; });
    }
    for (Operand& operand : step.destinations) relocate(operand, rank, [](std::uint32_t) { return true; });
    if (step.kind == StepKind::reduce) order_and_finish(step, flow);
  }

  template <class Written>
  void relocate(Operand& operand, std::uint32_t rank, Written written) {
    if (operand.buffer == Buffer::link || operand.buffer == Buffer::scratch) return;
    const std::uint32_t owner = operand.rank == self ? rank : operand.rank;
    const Place first = place(owner, operand.buffer, operand.index, written(0));
    for (std::uint32_t j = 0; j < operand.count; ++j) {
      const Place next = place(owner, operand.buffer, operand.index + j, written(j));
      uniform_ &= next == Place{first.buffer, first.index + j};
      if (next.buffer == Buffer::scratch) places_.insert(next.index);
    }
    operand.buffer = first.buffer;
    operand.index = first.index;
  }

  // Scratch places beyond the plan's own: one for each input chunk, then one for each output chunk.
  Place place(std::uint32_t owner, Buffer buffer, std::uint32_t index, bool written) const {
    std::uint32_t input = index;
    std::uint32_t output = index;
    const bool is_input = buffer == Buffer::input || cells_.input_of_output(owner, index, input);
    const bool is_output = buffer == Buffer::output || cells_.output_of_input(owner, index, output);
    if (!written && is_input) return {Buffer::input, input};
    if (is_output && has_output(header_, owner)) return {Buffer::output, output};
    if (!written) return {Buffer::output, output};
    const std::uint32_t beyond = header_.scratch_chunks;
    return {Buffer::scratch, is_input ? beyond + input : beyond + input_chunks(header_) + output};
  }

  void pack(Operand& operand, const std::vector<std::uint32_t>& numbers) const {
    if (operand.buffer != Buffer::scratch || operand.index < header_.scratch_chunks) return;
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), operand.index);
    operand.index = header_.scratch_chunks + static_cast<std::uint32_t>(at - numbers.begin());
  }

  void order_and_finish(Step& step, const Flow& flow) {
    std::vector<std::size_t> order(step.sources.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return flow.sources[a][0].lowest < flow.sources[b][0].lowest;
    });
    Operands sources;
    for (const std::size_t k : order) sources.push_back(step.sources[k]);
    step.sources = std::move(sources);
    if (!is_reduction(header_.collective)) return;
    step.finish = flow.result[0].same_set(full_);
    for (const Value& value : flow.result) uniform_ &= value.same_set(full_) == step.finish;
  }

  PlanHeader header_;
  bool one_memory_;
  Cells cells_;
  Value full_;
  std::vector<Program> result_;
  std::set<std::uint32_t> places_;
  bool uniform_ = true;
};

/// Broadcast: the one rank whose own data is read. Reduce: the rank that ends with every contribution. Else 0.
std::uint32_t find_root(const PlanHeader& header, const std::vector<Program>& programs, const Schedule& schedule) {
  Cells cells(header, header.in_place && !header.out_of_place);
  Dataflow dataflow(cells);
  std::set<std::uint32_t> givers;
  for (const StepRef& at : schedule.order) {
    const Step& step = programs[at.rank].lanes[at.lane].steps[at.step];
    if (!moves_data(step)) continue;
    for (const std::vector<Value>& values : dataflow.apply(at.rank, step).sources) {
      for (const Value& value : values) {
        if (!value.written && value.lowest != self) givers.insert(value.lowest);
      }
    }
  }
  if (header.collective == Collective::broadcast) return givers.size() == 1 ? *givers.begin() : 0;
  const Value all = full(header.ranks);
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    bool complete = true;
    for (std::uint32_t c = 0; c < output_chunks(header); ++c) {
      complete &= cells[cells.cell(rank, Buffer::output, c)].same_set(all);
    }
    if (complete) return rank;
  }
  return 0;
}

}  // namespace

bool touches_peers(const std::vector<Program>& programs) {
  const auto remote = [](const Operand& o) {
    return o.rank != self && (o.buffer == Buffer::input || o.buffer == Buffer::output);
  };
  for (const Program& program : programs) {
    for (const Lane& lane : program.lanes) {
      for (const Step& step : lane.steps) {
        if (std::any_of(step.sources.begin(), step.sources.end(), remote)) return true;
        if (std::any_of(step.destinations.begin(), step.destinations.end(), remote)) return true;
      }
    }
  }
  return false;
}

Plan canonicalise(PlanHeader header, std::vector<Program> programs, bool root_known, Problem& problem) {
  if (Cells::count(header) > max_all_chunks) {
    problem.report("the plan has " + std::to_string(Cells::count(header)) + " chunks in all buffers; at most " +
                   std::to_string(max_all_chunks) + " are accepted");
    return {};
  }
  if (count_accesses(programs) > max_chunk_accesses) {
    problem.report("the plan's steps touch " + std::to_string(count_accesses(programs)) + " chunks; at most " +
                   std::to_string(max_chunk_accesses) + " are accepted");
    return {};
  }
  // MSCCL's connections have several slots, so a plan may lean on more than the default two.
  Schedule order = schedule(programs, header.depth);
  const bool safe = order.complete;
  if (!safe) order = schedule(programs, unbounded);
  const bool rooted = header.collective == Collective::broadcast || header.collective == Collective::reduce;
  if (rooted && !root_known) header.root = find_root(header, programs, order);
  std::vector<Program> parted = single_chunks(programs) ? std::vector<Program>() : programs;  // in case they have to be
  Rewriter whole(header, std::move(programs), order);
  if (whole.uniform()) {
    programs = whole.take(header);
  } else {
    for (Program& program : parted) split_into_chunks(program);
    order = schedule(parted, unbounded);
    programs = Rewriter(header, std::move(parted), order).take(header);
  }
  if (touches_peers(programs)) header.protocol = Protocol::direct;
  if (!safe || !whole.uniform()) header.depth = safe_depth(programs, header.depth);
  const bool has_scratch = header.scratch_chunks > 0;
  Plan plan(std::move(header), std::move(programs));
  return has_scratch ? add_credits(plan) : plan;
}

}  // namespace rondo::formats
