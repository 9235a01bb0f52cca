#include "verifier/races.hpp"

#include <algorithm>
#include <string>

namespace rondo::verifier {

/// In place, a copy of a chunk onto itself moves nothing: neither read nor written. A reduction's might be scaled on the way.
bool Races::stays(const FlatStep& step, const FlatOperand& destination) const {
  if (step.kind != StepKind::copy || is_reduction(image_.header.collective)) return false;
  const FlatOperand& source = image_.operands[step.first];
  for (const FlatOperand* operand : {&source, &destination})
    if (operand->buffer == Buffer::link || !layout_.has_cell(operand->buffer)) return false;
  return source.rank == destination.rank &&
         layout_.cell(source.buffer, source.rank, source.index, 0) == layout_.cell(destination.buffer, destination.rank, destination.index, 0);
}

void Races::step(std::uint32_t lane, std::uint32_t number, std::uint32_t piece) {
  const FlatStep& step = image_.steps[number];
  const std::uint32_t operands = std::uint32_t{step.sources} + step.destinations;
  if (operands == 2 && stays(step, image_.operands[step.first + 1])) return;
  for (std::uint32_t k = 0; k < operands; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    if (operand.buffer == Buffer::link || !layout_.has_cell(operand.buffer)) continue;
    if (k >= step.sources && stays(step, operand)) continue;
    const std::uint32_t to_owner = image_.moved_lane(image_.inverse(operand.rank), lane);
    for (std::uint32_t j = 0; j < step.count; ++j) {
      const Here here{lane, number, piece, &operand, operand.index + j, to_owner};
      Cell& cell = cells_[layout_.cell(operand.buffer, operand.rank, operand.index + j, piece)];
      k < step.sources ? read(cell, here) : write(cell, here);
    }
  }
}

/// Whether both are one piece of one copy that ranks share out.
bool Races::made_instead(const Access& other, const Here& here) const {
  const std::uint32_t lane = other.lane % image_.lanes();
  const std::uint32_t once = image_.steps[here.step].once;
  return once != none && image_.steps[image_.step_of_event(lane, other.event)].once == once && image_.piece_of_event(lane, other.event) == here.piece;
}

void Races::look_at_writes(const Cell& cell, const Here& here, bool writes) {
  const auto look_at = [&](const Access& write) {
    if (!ordered(write, here) && !(writes && made_instead(write, here))) report(here, write, writes, true);
  };
  look_at(cell.write);
  if (shared_out_.empty()) return;
  if (const auto shared = shared_out_.find(&cell); shared != shared_out_.end())
    std::for_each(shared->second.makers.begin(), shared->second.makers.end(), look_at);
}

/// Before a step writes: what the first one who might make such a copy comes after, all others have to come after, too.
void Races::look_at_shared_out(Cell& cell, const Here& here) {
  if (image_.steps[here.step].once == none) {
    if (!shared_out_.empty()) shared_out_.erase(&cell);
    return;
  }
  SharedOut& shared = shared_out_[&cell];
  if (cell.write.lane != none && made_instead(cell.write, here)) {
    shared.makers.push_back(cell.write);
    for (const Access& write : shared.writes)
      if (!ordered(write, here)) report(here, write, true, true);
    for (const Access& read : shared.reads)
      if (!ordered(read, here)) report(here, read, true, false);
  } else {
    shared.writes = std::move(shared.makers);
    shared.writes.push_back(cell.write);
    shared.makers.clear();
    shared.reads.clear();
  }
  shared.reads.push_back(cell.read);
  for (std::uint32_t more = cell.more; more != none; more = reads_[more].next) shared.reads.push_back(reads_[more].access);
}

void Races::read(Cell& cell, const Here& here) {
  look_at_writes(cell, here, false);
  reversed_ |= cell.newest_write > here.piece;
  cell.newest_read = std::max(cell.newest_read, here.piece);
  const Access now{here.to_owner, clocks_.event(here.lane)};
  if (!ordered(cell.read, here)) {
    std::uint32_t node = static_cast<std::uint32_t>(reads_.size());
    if (free_reads_.empty()) {
      reads_.push_back({});
    } else {
      node = free_reads_.back();
      free_reads_.pop_back();
    }
    reads_[node] = {cell.read, cell.more};
    cell.more = node;
  }
  cell.read = now;
}

void Races::write(Cell& cell, const Here& here) {
  reversed_ |= cell.newest_write > here.piece || cell.newest_read > here.piece;
  cell.newest_write = std::max(cell.newest_write, here.piece);
  look_at_writes(cell, here, true);
  look_at_shared_out(cell, here);
  if (!ordered(cell.read, here)) report(here, cell.read, true, false);
  while (cell.more != none) {
    const Read read = reads_[cell.more];
    if (!ordered(read.access, here)) report(here, read.access, true, false);
    free_reads_.push_back(cell.more);
    cell.more = read.next;
  }
  cell.read = {};
  cell.write = {here.to_owner, clocks_.event(here.lane)};
}

void Races::report(const Here& here, const Access& other, bool writes, bool other_wrote) {
  if (report_.full()) return;
  const FlatOperand& operand = *here.operand;
  const std::uint32_t reader = image_.lane_rank[here.lane];
  std::string text = std::string(writes ? "writes " : "reads ") +
                     chunk_name(operand.buffer, operand.rank, here.chunk, reader) + ", which " +
                     where(image_, image_.step_of_event(other.lane % image_.lanes(), other.event)) + (other_wrote ? " writes" : " reads") +
                     ", and nothing orders the two";
  if (pieces_ > 1) text += " (at piece " + std::to_string(here.piece) + ")";
  report_.add(Fault::race, here.step, std::move(text));
}

}  // namespace rondo::verifier
