#include "formats/dataflow.hpp"

#include <algorithm>

namespace rondo::formats {
namespace {

// SplitMix64's finalizer (Steele, Lea, Flood 2014): well mixed words without a table.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

void Value::add(const Value& other) {
  sum[0] += other.sum[0];
  sum[1] += other.sum[1];
  lowest = std::min(lowest, other.lowest);
}

Value contribution(std::uint32_t rank) {
  Value value;
  value.sum[0] = mix(2 * std::uint64_t{rank});
  value.sum[1] = mix(2 * std::uint64_t{rank} + 1);
  value.lowest = rank;
  return value;
}

Value full(std::uint32_t ranks) {
  Value value;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) value.add(contribution(rank));
  return value;
}

Cells::Cells(const PlanHeader& header, bool one_memory)
    : one_memory_(one_memory),
      collective_(header.collective),
      chunks_per_block_(header.chunks_per_block),
      inputs_(input_chunks(header)),
      outputs_(output_chunks(header)),
      scratch_(header.scratch_chunks),
      values_(count(header)) {
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    for (std::uint32_t i = 0; i < inputs_; ++i) values_[cell(rank, Buffer::input, i)] = contribution(rank);
  }
}

std::uint64_t Cells::count(const PlanHeader& header) {
  return std::uint64_t{header.ranks} *
         (std::uint64_t{input_chunks(header)} + output_chunks(header) + header.scratch_chunks);
}

std::int64_t Cells::shift(std::uint32_t rank) const {
  const std::int64_t block = std::int64_t{rank} * chunks_per_block_;
  if (input_is_block(collective_)) return block;
  return output_is_block(collective_) ? -block : 0;
}

bool Cells::output_of_input(std::uint32_t rank, std::uint32_t input, std::uint32_t& output) const {
  const std::int64_t index = input + shift(rank);
  if (!one_memory_ || index < 0 || index >= outputs_) return false;
  output = static_cast<std::uint32_t>(index);
  return true;
}

bool Cells::input_of_output(std::uint32_t rank, std::uint32_t output, std::uint32_t& input) const {
  const std::int64_t index = output - shift(rank);
  if (!one_memory_ || index < 0 || index >= inputs_) return false;
  input = static_cast<std::uint32_t>(index);
  return true;
}

std::size_t Cells::cell(std::uint32_t rank, Buffer buffer, std::uint32_t index) const {
  const std::size_t base = std::size_t{rank} * (std::size_t{inputs_} + outputs_ + scratch_);
  if (buffer == Buffer::scratch) return base + inputs_ + outputs_ + index;
  if (buffer == Buffer::input) return base + index;
  std::uint32_t input = 0;
  return input_of_output(rank, index, input) ? base + input : base + inputs_ + index;
}

const Flow& Dataflow::apply(std::uint32_t rank, const Step& step) {
  const std::uint32_t chunks = step.destinations.front().count;
  flow_.sources.resize(step.sources.size());
  flow_.result.assign(chunks, Value{});
  for (std::size_t k = 0; k < step.sources.size(); ++k) {
    const Operand& source = step.sources[k];
    std::vector<Value>& values = flow_.sources[k];
    if (source.buffer == Buffer::link) {
      Link& link = links_[std::uint64_t{source.rank} << 42 | std::uint64_t{rank} << 21 | source.index];
      values.clear();
      if (link.received < link.messages.size()) values = std::move(link.messages[link.received++]);
      if (link.received == link.messages.size()) {
        link.messages.clear();
        link.received = 0;
      }
      values.resize(chunks);  // a message of the wrong size, or none: the verifier says so
    } else {
      const std::uint32_t owner = source.rank == self ? rank : source.rank;
      values.resize(chunks);
      for (std::uint32_t j = 0; j < chunks; ++j)
        values[j] = cells_[cells_.cell(owner, source.buffer, source.index + j)];
    }
    for (std::uint32_t j = 0; j < chunks; ++j) flow_.result[j].add(values[j]);
  }
  for (Value& value : flow_.result) value.written = true;
  for (const Operand& destination : step.destinations) {
    if (destination.buffer == Buffer::link) {
      links_[std::uint64_t{rank} << 42 | std::uint64_t{destination.rank} << 21 | destination.index].messages.push_back(flow_.result);
      continue;
    }
    const std::uint32_t owner = destination.rank == self ? rank : destination.rank;
    for (std::uint32_t j = 0; j < chunks; ++j) {
      cells_[cells_.cell(owner, destination.buffer, destination.index + j)] = flow_.result[j];
    }
  }
  return flow_;
}

}  // namespace rondo::formats
