// Spells steps: what the algorithms write their programs with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::planner {

inline Operand input(std::uint32_t index, std::uint32_t count = 1) {
  return {Buffer::input, self, index, count};
}
inline Operand output(std::uint32_t index, std::uint32_t count = 1) {
  return {Buffer::output, self, index, count};
}
inline Operand scratch(std::uint32_t index, std::uint32_t count = 1) {
  return {Buffer::scratch, self, index, count};
}
inline Operand input_of(std::uint32_t rank, std::uint32_t index) {
  return {Buffer::input, rank, index, 1};
}
inline Operand output_of(std::uint32_t rank, std::uint32_t index) {
  return {Buffer::output, rank, index, 1};
}
inline Operand scratch_of(std::uint32_t rank, std::uint32_t index, std::uint32_t count = 1) {
  return {Buffer::scratch, rank, index, count};
}
inline Operand link(std::uint32_t peer, std::uint32_t channel = 0, std::uint32_t count = 1) {
  return {Buffer::link, peer, channel, count};
}

/// The other ranks, 1 ≤ k < ranks, in an order that starts behind the rank itself, so that not everybody reads from the same one at the same time.
inline std::uint32_t peer(const PlanHeader& header, std::uint32_t rank, std::uint32_t k) { return (rank + k) % header.ranks; }

/// Where a rank stands along header.order (of several the first), and who stands at a place; without an order ranks stand by their numbers.
inline std::uint32_t position_of(const PlanHeader& header, std::uint32_t rank) {
  if (header.order.empty()) return rank;
  return static_cast<std::uint32_t>(std::find(header.order.begin(), header.order.end(), rank) - header.order.begin());
}
inline std::uint32_t rank_at(const PlanHeader& header, std::uint32_t position) { return header.order.empty() ? position : header.order[position]; }

/// Of a message the root is its sender.
inline std::uint32_t root_of(const PlanHeader& header) { return header.collective == Collective::send_recv ? 0 : header.root; }

/// Whether a rank has another block for each rank, and not one for all.
inline bool per_peer(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_to_all || collective == Collective::scatter;
}

/// The steps of one lane under construction. `skew` holds for the steps that are added after it is set.
class LaneBuilder {
 public:
  std::uint32_t skew = 0;

  /// Room for so many steps: compiling plans every rank's program once, so what growing costs is paid by every rank.
  void reserve(std::size_t steps) { lane_.steps.reserve(steps); }

  void copy(const Operand& source, Operands destinations, bool finish = false) {
    add({StepKind::copy, finish, skew, {}, {source}, std::move(destinations), {}});
  }
  /// What other ranks have, too: whoever comes first makes it.
  void copy_once(const Once& word, const Operand& source, const Operand& destination) {
    add({StepKind::copy, false, skew, {}, {source}, {destination}, {}, word});
  }
  void reduce(Operands sources, Operands destinations, bool finish) {
    add({StepKind::reduce, finish, skew, {}, std::move(sources), std::move(destinations), {}});
  }
  void signal() { add({StepKind::signal, false, skew, {}, {}, {}, {}}); }
  void wait(std::uint32_t rank, std::uint32_t signal, std::uint32_t lag = 0) {
    add({StepKind::wait, false, skew, {rank, 0, signal, lag}, {}, {}, {}});
  }

  /// The lane; the builder is empty afterwards.
  Lane take() { return std::exchange(lane_, {}); }
  Program take_program() {
    Program program;
    program.lanes.push_back(take());  // a braced list would copy it
    return program;
  }

 private:
  void add(Step step) {
    std::vector<Step>& steps = lane_.steps;
    if (steps.size() == steps.capacity()) steps.reserve(std::max<std::size_t>(8, 4 * steps.size()));  // moving steps costs more than making them
    steps.push_back(std::move(step));
  }
  Lane lane_;
};

}  // namespace rondo::planner
