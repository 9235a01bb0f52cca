#include "verifier/values.hpp"

#include <algorithm>

namespace rondo::verifier {

Values::Values(const Image& image, const Layout& layout, std::uint32_t pieces)
    : image_(image),
      layout_(layout),
      pieces_(pieces),
      reduces_(is_reduction(image.header.collective)),
      sets_(image.header),
      cells_(layout.cells()),
      queues_(image.links.size()) {
  if (layout.in_place()) fill_in_place();
}

void Values::fill_in_place() {
  for (std::uint32_t rank = 0; rank < image_.held_ranks(); ++rank) {
    if (!has_input(image_.header, rank)) continue;
    for (std::uint32_t c = 0; c < input_chunks(image_.header); ++c)
      for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
        Value value = contribution(rank, c, piece);
        value.state = raw;
        cells_[layout_.cell(Buffer::input, rank, c, piece)] = value;
      }
  }
}

Values::Value Values::contribution(std::uint32_t rank, std::uint32_t index, std::uint32_t piece) const {
  Value value;
  value.place = index * pieces_ + piece;
  value.ranks = sets_.single(rank);
  value.state = partial;
  return value;
}

/// Where a shift takes a value; there is one in symmetric images alone.
Values::Value Values::moved(std::uint32_t by, Value value) {
  if (!image_.shifts || by == 0 || value.state == unwritten || value.state == wrong) return value;
  value.place = image_.shifts->moved_chunk(by, Buffer::input, value.place / pieces_) * pieces_ + value.place % pieces_;
  value.ranks = sets_.moved(*image_.shifts, by, value.ranks);
  return value;
}

/// Notes what the current step does wrong. Its result stays wrong wherever it goes.
Values::Value Values::mistake(Fault fault, std::string message) {
  constexpr std::size_t most = 4096;  // the rest shares the last one: a report holds few
  const bool again = !mistakes_.empty() && mistakes_.back().step == step_ && mistakes_.back().fault == fault;
  if (!again && mistakes_.size() < most) mistakes_.push_back({fault, step_, std::move(message)});
  Value value;
  value.place = static_cast<std::uint32_t>(mistakes_.size() - 1);
  value.state = wrong;
  return value;
}

Values::Value Values::read_input(const FlatOperand& operand, std::uint32_t index) {
  if (!layout_.has_cell(Buffer::input)) return contribution(image_.shifts ? image_.shifts->rank(operand.rank) : operand.rank, index, piece_);
  Value value = moved(operand.rank, cells_[layout_.cell(Buffer::input, operand.rank, index, piece_)]);
  if (value.state == raw) {
    value.state = partial;
  } else if (reduces_) {
    const std::string what = "in place, reads " + name(operand, index) + " as a contribution after " +
                             where(image_, value.writer) + " has overwritten it";
    return mistake(Fault::overwritten_input, what);
  }
  return value;
}

Values::Value Values::read(const FlatOperand& operand, std::uint32_t j) {
  const std::uint32_t index = operand.index + j;
  if (operand.buffer == Buffer::input) return read_input(operand, index);
  if (operand.buffer == Buffer::link) {
    Queue& queue = queues_[operand.rank];
    const Value value = queue.values[queue.head++];
    if (queue.head == queue.values.size()) {
      queue.values.clear();
      queue.head = 0;
    }
    return moved(image_.inverse(image_.links[operand.rank].to), value);
  }
  Value value = moved(operand.rank, cells_[layout_.cell(operand.buffer, operand.rank, index, piece_)]);
  if (value.state == unwritten)
    return mistake(Fault::wrong_value, "reads " + name(operand, index) + ", which nobody has written before");
  if (value.state == raw) {
    if (reduces_)
      return mistake(Fault::wrong_value, "reads " + name(operand, index) +
                                             ", where in place nothing lies but the input, which is no result");
    value.state = partial;
  }
  return value;
}

Values::Value Values::reduced(const FlatStep& step, const FlatOperand* operands, std::uint32_t j) {
  sources_.clear();
  for (std::uint32_t k = 0; k < step.sources; ++k) sources_.push_back(read(operands[k], j));
  for (const Value& source : sources_)
    if (source.state == wrong) return source;
  Value value = sources_.front();
  if (!reduces_) return mistake(Fault::wrong_value, "reduces in a collective that combines nothing");
  source_sets_.clear();
  for (const Value& source : sources_) {
    if (source.place != value.place)
      return mistake(Fault::wrong_value, "combines " + describe(value, false) + " with " + describe(source, false));
    if (source.state != value.state)
      return mistake(Fault::wrong_value, "combines a finished value with an unfinished one");
    source_sets_.push_back(source.ranks);
  }
  if (const auto twice = sets_.unite(source_sets_, value.ranks))
    return mistake(Fault::double_contribution,
                   "rank " + std::to_string(*twice) + "'s contribution to " + describe(value, false) + " enters twice");
  value.along = static_cast<std::uint32_t>(strictness_of_step()) & 3;
  return value;
}

/// Of what the current step combines: its sources' at best. What departs does so whatever its sources' are.
Strictness Values::strictness_of_step() {
  if (!follow_tree()) return Strictness::loose;
  auto least = static_cast<std::uint32_t>(Strictness::any_type);
  for (const Value& source : sources_) least = std::min<std::uint32_t>(least, source.along);
  const bool partials = std::any_of(source_runs_.begin(), source_runs_.end(), [](const RankRun& run) { return run.end - run.first > 1; });
  if (partials) depart(Strictness::own_type, "combines results that were stored");
  return std::min(static_cast<Strictness>(least), partials ? Strictness::own_type : Strictness::any_type);
}

/// Whether the current step's sources, whatever they hold, are combined as the tree of their ranks has it.
bool Values::follow_tree() {
  source_runs_.clear();
  for (const Value& source : sources_) {
    const auto run = sets_.run(source.ranks);
    if (!run || (!source_runs_.empty() && source_runs_.back().end != run->first)) {
      depart(Strictness::loose, "combines ranks that don't follow one another in their order");
      return false;
    }
    source_runs_.push_back(*run);
  }
  if (follows_tree(source_runs_, 0, source_runs_.size())) return true;
  depart(Strictness::loose, "groups the ranks otherwise than the tree");
  return false;
}

void Values::depart(Strictness to, const char* why) {
  for (Departure& before : departures_)
    if (before.to == to) {
      if (step_ < before.step) before = {to, step_, why};
      return;
    }
  departures_.push_back({to, step_, why});
}

Values::Value Values::finish(Value value) {
  if (value.state == finished) return mistake(Fault::wrong_value, "finishes a value that was finished before");
  if (value.state == partial) value.state = finished;
  return value;
}

void Values::write(const FlatOperand& operand, std::uint32_t j, Value value) {
  value.writer = step_ & writer_mask;
  if (operand.buffer == Buffer::link) {
    queues_[operand.rank].values.push_back(value);
    return;
  }
  const std::uint32_t index = operand.index + j;
  if (operand.buffer == Buffer::output && value.state != wrong &&
      (within_block(value) != rest(index, image_.header.chunks_per_block) || piece_of(value) != piece_)) {
    value = mistake(Fault::wrong_value,
                    "puts " + describe(value, false) + " into " + name(operand, index) + ", which has another length");
    value.writer = step_ & writer_mask;
  }
  cells_[layout_.cell(operand.buffer, operand.rank, index, piece_)] = moved(image_.inverse(operand.rank), value);
}

/// A copy that another rank may have made instead: which of them does makes no difference as long as what it writes is there already.
void Values::write_again(const FlatOperand& operand, std::uint32_t j, Value value) {
  Value& cell = cells_[layout_.cell(operand.buffer, operand.rank, operand.index + j, piece_)];
  const Value made = cell;
  write(operand, j, value);
  const bool same = cell.place == made.place && cell.ranks == made.ranks && cell.state == made.state;
  cell = same ? made : mistake(Fault::wrong_value, "isn't the copy that another rank may have made instead, since one of its chunks has changed in between");
  if (!same) cell.writer = step_ & writer_mask;
}

void Values::move(std::uint32_t rank, std::uint32_t number, std::uint32_t piece) {
  rank_ = rank;
  step_ = number;
  piece_ = piece;
  const FlatStep& step = image_.steps[number];
  const FlatOperand* operands = &image_.operands[step.first];
  const bool made = step.once != none && !made_.insert(std::uint64_t{step.once} << 32 | piece).second;
  for (std::uint32_t j = 0; j < step.count; ++j) {
    Value value = step.kind == StepKind::copy ? read(operands[0], j) : reduced(step, operands, j);
    if (step.finish && reduces_ && image_.header.ranks > 1) value = finish(value);
    for (std::uint32_t k = 0; k < step.destinations; ++k)
      made ? write_again(operands[step.sources + k], j, value) : write(operands[step.sources + k], j, value);
  }
}

Values::Value Values::promised(std::uint32_t rank, std::uint32_t index, std::uint32_t piece) const {
  const PlanHeader& header = image_.header;
  const std::uint32_t chunks = header.chunks_per_block;
  Value value;
  switch (header.collective) {
    case Collective::all_gather:
    case Collective::gather:
      return contribution(index / chunks, index % chunks, piece);
    case Collective::scatter:
      return contribution(header.root, rank * chunks + index, piece);
    case Collective::all_to_all:
    case Collective::all_to_all_v:
      return contribution(index / chunks, rank * chunks + index % chunks, piece);
    case Collective::broadcast:
      return contribution(header.root, index, piece);
    case Collective::send_recv:
      return contribution(0, index, piece);
    case Collective::reduce_scatter:
      value = contribution(rank, rank * chunks + index, piece);
      break;
    default:
      value = contribution(rank, index, piece);
      break;
  }
  value.ranks = header.collective == Collective::scan ? sets_.up_to(rank) : sets_.all();
  if (header.ranks > 1) value.state = finished;
  return value;
}

std::string Values::describe(const Value& value, bool with_ranks) const {
  std::string text = "chunk " + std::to_string(value.place / pieces_);
  if (value.place % pieces_ != 0) text += ", piece " + std::to_string(value.place % pieces_);
  if (!with_ranks) return text;
  text += " of " + sets_.describe(value.ranks);
  if (reduces_ && image_.header.ranks > 1) text += value.state == finished ? ", finished" : ", not finished";
  return text;
}

void Values::check_output(std::uint32_t rank, std::uint32_t index, std::uint32_t piece, Report& report) const {
  Value value = cells_[layout_.cell(Buffer::output, rank, index, piece)];
  if (value.state == wrong) {
    const Mistake& mistake = mistakes_[value.place];
    return report.add(mistake.fault, mistake.step, mistake.message);
  }
  const auto output = [&] { return "output[" + std::to_string(index) + "]"; };
  if (value.state == unwritten || (value.state == raw && reduces_))
    return report.add_rank(Fault::postcondition, rank, output() + " is never written");
  const bool untouched = value.state == raw;
  if (untouched) value.state = partial;
  const Value expected = promised(rank, index, piece);
  if (value.place == expected.place && value.ranks == expected.ranks && value.state == expected.state) {
    for (const Departure& departure : departures_)
      if (value.along == static_cast<std::uint32_t>(departure.to)) report.note(departure);
    return;
  }
  const std::string message = output() + " ends as " + describe(value, true) + ", expected " + describe(expected, true);
  if (untouched)
    report.add_rank(Fault::postcondition, rank, message);
  else
    report.add(Fault::postcondition, value.writer,
               message + (image_.name(value.writer).rank == rank ? "" : " (of rank " + std::to_string(rank) + ")"));
}

void Values::check_outputs(Report& report) const {
  for (std::uint32_t rank = 0; rank < image_.held_ranks() && !report.full(); ++rank) {
    if (!has_output(image_.header, rank)) continue;
    for (std::uint32_t c = 0; c < output_chunks(image_.header) && !report.full(); ++c)
      for (std::uint32_t piece = 0; piece < pieces_; ++piece) check_output(rank, c, piece, report);
  }
}

}  // namespace rondo::verifier
