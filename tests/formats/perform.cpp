#include "perform.hpp"
#include "support/folders.hpp"

#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace rondo::test {
namespace {

using Number = long double;  // exact far beyond 8 ranks
constexpr Number never_written = -1e15L;

Number contribution(std::uint32_t rank, std::uint32_t chunk) {
  Number power = 1;
  for (std::uint32_t r = 0; r < rank; ++r) power *= 4;
  return power * (chunk + 1);
}

struct Memory {
  std::vector<Number> input, output, scratch;
};

class Performer {
 public:
  Performer(const Plan& plan, bool in_place, std::uint32_t depth)
      : header_(plan.header), in_place_(in_place), depth_(depth), memory_(plan.header.ranks) {
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
      programs_.push_back(plan.program(rank));
      next_.emplace_back(programs_[rank].lanes.size(), 0);
      memory_[rank].input.assign(input_chunks(header_), never_written);
      memory_[rank].output.assign(output_chunks(header_), never_written);
      memory_[rank].scratch.assign(header_.scratch_chunks, never_written);
      for (std::uint32_t c = 0; c < input_chunks(header_) && has_input(header_, rank); ++c) {
        at(rank, Buffer::input, c) = contribution(rank, c);
      }
    }
  }

  std::string run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
        for (std::uint32_t lane = 0; lane < next_[rank].size(); ++lane) {
          while (advance(rank, lane)) moved = true;
        }
      }
    }
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
      for (std::uint32_t lane = 0; lane < next_[rank].size(); ++lane) {
        if (next_[rank][lane] < programs_[rank].lanes[lane].steps.size()) return stuck(rank, lane);
      }
    }
    return fault_.empty() ? check() : fault_;
  }

 private:
  Number& at(std::uint32_t rank, Buffer buffer, std::uint32_t index) {
    Memory& memory = memory_[rank];
    if (buffer == Buffer::scratch) return memory.scratch.at(index);
    if (buffer == Buffer::output) return memory.output.at(index);
    if (in_place_) {
      const std::int64_t block = std::int64_t{rank} * header_.chunks_per_block;
      const std::int64_t shift = header_.collective == Collective::all_gather       ? block
                                 : header_.collective == Collective::reduce_scatter ? -block
                                                                                    : 0;
      const std::int64_t shared = index + shift;
      if (shared >= 0 && shared < static_cast<std::int64_t>(memory.output.size())) {
        return memory.output[static_cast<std::size_t>(shared)];
      }
    }
    return memory.input.at(index);
  }

  std::string stuck(std::uint32_t rank, std::uint32_t lane) {
    return "rank " + std::to_string(rank) + ", lane " + std::to_string(lane) + " never gets past step " +
           std::to_string(next_[rank][lane]);
  }

  std::uint32_t signals(std::uint32_t rank, std::uint32_t lane) {
    std::uint32_t count = 0;
    for (std::size_t s = 0; s < next_[rank].at(lane); ++s) {
      count += programs_[rank].lanes[lane].steps[s].kind == StepKind::signal;
    }
    return count;
  }

  std::deque<std::vector<Number>>& link(std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
    return links_[{from, to, channel}];
  }

  bool ready(std::uint32_t rank, const Step& step) {
    for (const After& after : step.after) {
      if (next_[rank].at(after.lane) <= after.step) return false;
    }
    if (step.kind == StepKind::wait && step.wait.lag == 0 &&
        signals(step.wait.rank, step.wait.lane) <= step.wait.signal) {
      return false;
    }
    for (const Operand& o : step.sources) {
      if (o.buffer == Buffer::link && link(o.rank, rank, o.index).empty()) return false;
    }
    for (const Operand& o : step.destinations) {
      if (o.buffer == Buffer::link && link(rank, o.rank, o.index).size() >= depth_) return false;
    }
    return true;
  }

  bool advance(std::uint32_t rank, std::uint32_t lane) {
    if (next_[rank][lane] == programs_[rank].lanes[lane].steps.size()) return false;
    const Step& step = programs_[rank].lanes[lane].steps[next_[rank][lane]];
    if (!ready(rank, step)) return false;
    ++next_[rank][lane];
    if (step.kind == StepKind::signal || step.kind == StepKind::wait) return true;
    std::vector<Number> sum(step.destinations.at(0).count, 0);
    for (const Operand& o : step.sources) {
      std::vector<Number> values;
      if (o.buffer == Buffer::link) {
        values = link(o.rank, rank, o.index).front();
        link(o.rank, rank, o.index).pop_front();
      } else {
        for (std::uint32_t j = 0; j < o.count; ++j)
          values.push_back(at(o.rank == self ? rank : o.rank, o.buffer, o.index + j));
      }
      if (values.size() != sum.size()) fault_ = "operands of different sizes";
      for (std::size_t j = 0; j < std::min(sum.size(), values.size()); ++j) sum[j] += values[j];
    }
    for (const Operand& o : step.destinations) {
      if (o.buffer == Buffer::input) fault_ = "a step writes input";
      if (o.buffer == Buffer::link) {
        link(rank, o.rank, o.index).push_back(sum);
      } else {
        for (std::uint32_t j = 0; j < o.count; ++j)
          at(o.rank == self ? rank : o.rank, o.buffer, o.index + j) = sum.at(j);
      }
    }
    return true;
  }

  Number expected(std::uint32_t rank, std::uint32_t chunk) const {
    const std::uint32_t k = header_.chunks_per_block;
    if (header_.collective == Collective::broadcast) return contribution(header_.root, chunk);
    if (header_.collective == Collective::all_gather) return contribution(chunk / k, chunk % k);
    if (header_.collective == Collective::all_to_all) return contribution(chunk / k, rank * k + chunk % k);
    const std::uint32_t index = header_.collective == Collective::reduce_scatter ? rank * k + chunk : chunk;
    Number sum = 0;
    for (std::uint32_t r = 0; r < header_.ranks; ++r) sum += contribution(r, index);
    return sum;
  }

  std::string check() {
    for (const auto& [key, messages] : links_) {
      if (!messages.empty()) return "a message was never received";
    }
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
      for (std::uint32_t c = 0; c < output_chunks(header_) && has_output(header_, rank); ++c) {
        if (at(rank, Buffer::output, c) == expected(rank, c)) continue;
        return "rank " + std::to_string(rank) + ", output chunk " + std::to_string(c) + " is wrong";
      }
    }
    return {};
  }

  PlanHeader header_;
  bool in_place_;
  std::uint32_t depth_;
  std::vector<Program> programs_;
  std::vector<std::vector<std::size_t>> next_;  // step, by rank and lane
  std::vector<Memory> memory_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::deque<std::vector<Number>>> links_;
  std::string fault_;
};

}  // namespace

std::string perform(const Plan& plan, bool in_place, std::uint32_t depth) {
  return Performer(plan, in_place, depth).run();
}

std::string perform(const Plan& plan) {
  std::string fault;
  if (plan.header.out_of_place) fault = perform(plan, false, plan.header.depth);
  if (plan.header.in_place && fault.empty()) fault = perform(plan, true, plan.header.depth);
  return fault;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string data(const std::string& name) {
  return read_text(RONDO_SOURCE_DIR "/tests/formats/data/" + name);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no \"" + from + "\" in the text");
  return text.replace(at, from.size(), to);
}

}  // namespace rondo::test
