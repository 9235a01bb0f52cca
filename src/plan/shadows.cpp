#include "plan/shadows.hpp"

#include <algorithm>

namespace rondo::plan {

Shadows::Shadows(const PlanHeader& header, std::uint32_t rank) {
  if (has_input(header, rank)) inputs_ = input_chunks(header);
  if (has_output(header, rank)) outputs_ = output_chunks(header);
  const bool one_memory = header.in_place && inputs_ > 0 && outputs_ > 0;
  const std::size_t block = std::size_t{rank} * header.chunks_per_block;
  if (!one_memory) {
    input_cell_ = outputs_;
  } else if (input_is_block(header.collective)) {
    input_cell_ = block;
  } else if (output_is_block(header.collective)) {
    output_cell_ = block;
  }
  output_is_input_ = one_memory && !header.out_of_place;
  const std::size_t cells = std::max(input_cell_ + inputs_, output_cell_ + outputs_);
  for (auto* flags : {&shadowed_, &filled_, &written_}) flags->resize(cells, false);
}

std::size_t Shadows::cell(const Operand& operand) const {
  return operand.index + (operand.buffer == Buffer::input ? input_cell_ : output_cell_);
}

bool Shadows::inside(const Operand& operand) const {
  const std::uint32_t chunks = operand.buffer == Buffer::input ? inputs_ : outputs_;
  return operand.count > 0 && std::uint64_t{operand.index} + operand.count <= chunks;
}

bool Shadows::touch(const Operand& operand, bool all) {
  if (!inside(operand)) return false;
  const auto begin = shadowed_.begin() + static_cast<std::ptrdiff_t>(cell(operand));
  const auto end = begin + operand.count;
  const bool some = std::find(begin, end, true) != end;
  const bool every = std::find(begin, end, false) == end;
  if (every || (!some && !all)) return false;
  std::fill(begin, end, true);
  any_ = true;
  return true;
}

std::uint32_t Shadows::place(std::uint32_t first) {
  chunk_.resize(shadowed_.size(), 0);
  std::uint32_t next = first;
  for (std::size_t c = 0; c < shadowed_.size(); ++c)
    if (shadowed_[c]) chunk_[c] = next++;
  return next - first;
}

std::optional<std::uint32_t> Shadows::map(const Operand& operand) const {
  if (!inside(operand) || !shadowed_[cell(operand)]) return std::nullopt;
  return chunk_[cell(operand)];
}

void Shadows::use(const Operand& operand, bool destination) {
  const std::size_t first = cell(operand);
  for (std::size_t c = first; c < first + operand.count; ++c) {
    if (destination) written_[c] = true;
    const bool holds_input = c >= input_cell_ && c < input_cell_ + inputs_;
    if (operand.buffer == Buffer::input || (output_is_input_ && holds_input)) filled_[c] = true;
  }
}

std::vector<ShadowCopy> Shadows::fills() const {
  return runs(filled_, input_cell_, inputs_);
}

std::vector<ShadowCopy> Shadows::drains() const {
  return runs(written_, output_cell_, outputs_);
}

std::vector<ShadowCopy> Shadows::runs(const std::vector<bool>& flags, std::size_t first, std::size_t count) const {
  std::vector<ShadowCopy> copies;
  for (std::size_t c = first; c < first + count; ++c) {
    if (!flags[c]) continue;
    const auto user = static_cast<std::uint32_t>(c - first);
    if (!copies.empty() && copies.back().user + copies.back().count == user &&
        copies.back().shadow + copies.back().count == chunk_[c]) {
      ++copies.back().count;
    } else {
      copies.push_back({user, chunk_[c], 1});
    }
  }
  return copies;
}

}  // namespace rondo::plan
