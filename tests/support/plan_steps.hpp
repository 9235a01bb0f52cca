// Operands and steps of plans made by hand, spelled short.
#pragma once

#include <utility>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::test {

inline Operand input(std::uint32_t index, std::uint32_t rank = self, std::uint32_t count = 1) {
  return {Buffer::input, rank, index, count};
}
inline Operand output(std::uint32_t index, std::uint32_t rank = self, std::uint32_t count = 1) {
  return {Buffer::output, rank, index, count};
}
inline Operand scratch(std::uint32_t index, std::uint32_t rank = self, std::uint32_t count = 1) {
  return {Buffer::scratch, rank, index, count};
}
inline Operand link(std::uint32_t peer, std::uint32_t channel = 0, std::uint32_t count = 1) {
  return {Buffer::link, peer, channel, count};
}

inline Step copy(Operand from, Operands to, std::uint32_t skew = 0) {
  Step step;
  step.sources = {from};
  step.destinations = std::move(to);
  step.skew = skew;
  return step;
}

/// A reduce step; another name, since std::reduce would be found where a vector is given.
inline Step combine(Operands from, Operands to, bool finish = false, std::uint32_t skew = 0) {
  Step step;
  step.kind = StepKind::reduce;
  step.sources = std::move(from);
  step.destinations = std::move(to);
  step.finish = finish;
  step.skew = skew;
  return step;
}

inline Step signal(std::uint32_t skew = 0) {
  Step step;
  step.kind = StepKind::signal;
  step.skew = skew;
  return step;
}

inline Step wait(std::uint32_t rank, std::uint32_t lane, std::uint32_t number, std::uint32_t lag = 0,
                 std::uint32_t skew = 0) {
  Step step;
  step.kind = StepKind::wait;
  step.wait = {rank, lane, number, lag};
  step.skew = skew;
  return step;
}

inline Step once(Step step, std::uint32_t rank, std::uint32_t word) {
  step.once = Once{rank, word};
  return step;
}

inline Step after(Step step, std::uint32_t lane, std::uint32_t number) {
  step.after.push_back({lane, number});
  return step;
}

}  // namespace rondo::test
