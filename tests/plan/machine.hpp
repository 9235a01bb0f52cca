// A machine for plans, written from 0001 alone: runs all ranks' lanes over several pieces, one step of a random lane at
// a time, with real numbers in real buffers. Knows links and `after` as well as signals and waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::test {

class Machine {
 public:
  using Word = std::uint64_t;

  Machine(const Plan& plan, std::uint32_t pieces, bool in_place, std::uint64_t seed)
      : header_(plan.header), pieces_(pieces), in_place_(in_place), random_(seed) {
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
      const Program program = plan.program(rank);
      for (std::uint32_t l = 0; l < program.lanes.size(); ++l) {
        LaneState lane{rank, l, program.lanes[l].steps, 0, 0, 0, 0, {}};
        for (const Step& step : lane.steps) {
          lane.signals += step.kind == StepKind::signal;
          largest_skew_ = std::max(largest_skew_, step.skew);
        }
        lane.done.assign(lane.steps.size(), 0);
        index_[{rank, l}] = lanes_.size();
        lanes_.push_back(std::move(lane));
      }
      for (std::uint32_t c = 0; c < input_chunks(header_); ++c)
        for (std::uint32_t i = 0; i < pieces_; ++i)
          if (has_input(header_, rank)) at(rank, Buffer::input, c, i) = contribution(rank, c, i);
    }
  }

  /// A number that belongs to one rank, chunk and piece; sums of them are as good as unique.
  static Word contribution(std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) {
    Word x = (Word{rank} << 40 | Word{chunk} << 20 | piece) * 0x9e3779b97f4a7c15u + 0x1234567;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 27);
  }

  /// False when nobody can go on.
  bool run() {
    std::vector<std::size_t> running;
    for (std::size_t l = 0; l < lanes_.size(); ++l) running.push_back(l);
    while (!running.empty()) {
      std::shuffle(running.begin(), running.end(), random_);
      bool moved = false;
      for (std::size_t k = 0; k < running.size() && !moved; ++k) {
        LaneState& lane = lanes_[running[k]];
        // A lane in luck goes on for a while, so that some run far ahead of others.
        for (std::uint64_t more = 1 + random_() % 12; more > 0 && advance(lane); --more) moved = true;
        if (lane.turn == turns()) running.erase(running.begin() + static_cast<std::ptrdiff_t>(k)), moved = true;
      }
      if (!moved) return false;
    }
    return true;
  }

  Word output(std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) {
    return at(rank, Buffer::output, chunk, piece);
  }

 private:
  struct LaneState {
    std::uint32_t rank, lane;
    std::vector<Step> steps;
    std::uint32_t turn, step, signals;
    Word progress;
    std::vector<std::uint32_t> done;  // pieces that each step has done
  };
  using Link = std::deque<std::vector<Word>>;

  std::uint32_t turns() const { return pieces_ + largest_skew_; }

  Word& at(std::uint32_t rank, Buffer buffer, std::uint32_t chunk, std::uint32_t piece) {
    if (in_place_ && (buffer == Buffer::input || buffer == Buffer::output)) {
      const bool gathers = header_.collective == Collective::all_gather || header_.collective == Collective::gather;
      const bool scatters = header_.collective == Collective::reduce_scatter || header_.collective == Collective::scatter;
      const bool inner = (gathers && buffer == Buffer::input) || (scatters && buffer == Buffer::output);
      if (inner) chunk += rank * header_.chunks_per_block;
      buffer = Buffer::output;
    }
    const std::uint32_t place = buffer == Buffer::scratch ? piece % header_.depth : piece;
    return memory_[{rank, buffer, chunk, place}];
  }

  /// Does one step of the lane, or passes one that has no piece; false when it is blocked or has ended.
  bool advance(LaneState& lane) {
    while (lane.turn < turns()) {
      if (lane.step == lane.steps.size()) {
        ++lane.turn;
        lane.step = 0;
        continue;
      }
      const Step& step = lane.steps[lane.step];
      const bool has_piece = lane.turn >= step.skew && lane.turn - step.skew < pieces_;
      if (has_piece && !perform(lane, step, lane.turn - step.skew)) return false;
      lane.done[lane.step] += has_piece;
      ++lane.step;
      if (has_piece) return true;
    }
    return false;
  }

  bool perform(LaneState& lane, const Step& step, std::uint32_t piece) {
    for (const After& after : step.after)
      if (lanes_[index_.at({lane.rank, after.lane})].done[after.step] <= piece) return false;
    if (step.kind == StepKind::signal) {
      Word position = 0;
      for (std::uint32_t s = 0; s <= lane.step; ++s) position += lane.steps[s].kind == StepKind::signal;
      lane.progress = Word{lane.turn} * lane.signals + position;
      return true;
    }
    if (step.kind == StepKind::wait) return signalled(step.wait, piece);
    return move(lane, step, piece);
  }

  bool signalled(const WaitFor& wait, std::uint32_t piece) {
    if (piece < wait.lag) return true;
    const auto found = index_.find({wait.rank, wait.lane});
    if (found == index_.end() || wait.signal >= lanes_[found->second].signals) return false;
    const LaneState& other = lanes_[found->second];
    std::uint32_t seen = 0;
    for (const Step& step : other.steps) {
      if (step.kind != StepKind::signal || seen++ != wait.signal) continue;
      return other.progress >= Word{piece - wait.lag + step.skew} * other.signals + wait.signal + 1;
    }
    return false;
  }

  bool move(const LaneState& lane, const Step& step, std::uint32_t piece) {
    for (const Operand& source : step.sources)
      if (source.buffer == Buffer::link && links_[{source.rank, lane.rank, source.index}].empty()) return false;
    for (const Operand& to : step.destinations)
      if (to.buffer == Buffer::link && links_[{lane.rank, to.rank, to.index}].size() >= header_.depth) return false;
    std::vector<Word> result(step.sources[0].count, 0);
    for (const Operand& source : step.sources) {
      const std::vector<Word> values = read(lane.rank, source, piece);
      for (std::size_t j = 0; j < result.size(); ++j) result[j] += values.at(j);
    }
    for (const Operand& to : step.destinations) {
      if (to.buffer == Buffer::link) {
        links_[{lane.rank, to.rank, to.index}].push_back(result);
        continue;
      }
      for (std::uint32_t j = 0; j < to.count; ++j)
        at(to.rank == self ? lane.rank : to.rank, to.buffer, to.index + j, piece) = result[j];
    }
    return true;
  }

  std::vector<Word> read(std::uint32_t rank, const Operand& source, std::uint32_t piece) {
    std::vector<Word> values;
    if (source.buffer == Buffer::link) {
      Link& link = links_[{source.rank, rank, source.index}];
      values = link.front();
      link.pop_front();
      return values;
    }
    for (std::uint32_t j = 0; j < source.count; ++j)
      values.push_back(at(source.rank == self ? rank : source.rank, source.buffer, source.index + j, piece));
    return values;
  }

  PlanHeader header_;
  std::uint32_t pieces_;
  bool in_place_;
  std::mt19937_64 random_;
  std::uint32_t largest_skew_ = 0;
  std::vector<LaneState> lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> index_;
  std::map<std::tuple<std::uint32_t, Buffer, std::uint32_t, std::uint32_t>, Word> memory_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Link> links_;
};

/// Whether a plan for all_reduce gives every rank every sum, in some random interleavings. `why` says what went wrong.
inline bool all_reduces(const Plan& plan, std::uint32_t pieces, bool in_place, std::string& why, int runs = 20) {
  for (int seed = 0; seed < runs; ++seed) {
    Machine machine(plan, pieces, in_place, static_cast<std::uint64_t>(seed));
    const auto fail = [&](const std::string& what) {
      why = what + " with seed " + std::to_string(seed) + ", " + std::to_string(pieces) + " pieces";
      return false;
    };
    if (!machine.run()) return fail("deadlock");
    for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
      for (std::uint32_t c = 0; c < output_chunks(plan.header); ++c)
        for (std::uint32_t i = 0; i < pieces; ++i) {
          Machine::Word sum = 0;
          for (std::uint32_t q = 0; q < plan.header.ranks; ++q) sum += Machine::contribution(q, c, i);
          if (machine.output(rank, c, i) != sum)
            return fail("rank " + std::to_string(rank) + " has a wrong chunk " + std::to_string(c) + ", piece " +
                        std::to_string(i));
        }
  }
  return true;
}

}  // namespace rondo::test
