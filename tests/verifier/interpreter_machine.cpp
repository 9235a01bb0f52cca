#include "verifier/interpreter_machine.hpp"

#include <algorithm>

namespace rondo::test {

Progress Machine::start() const {
  return {std::vector<std::uint32_t>(model_.lanes().size(), 0), std::vector<std::uint32_t>(model_.link_count(), 0)};
}

Memory Machine::fresh_memory() const {
  return {std::vector<ValueId>(model_.place_count(), junk),
          std::vector<std::vector<std::vector<ValueId>>>(model_.link_count())};
}

const Event* Machine::next(const Progress& progress, std::uint32_t lane) const {
  const std::vector<Event>& events = model_.lanes()[lane];
  return progress.done[lane] < events.size() ? &events[progress.done[lane]] : nullptr;
}

bool Machine::enabled(const Progress& progress, const Event& event) const {
  for (const Need& need : event.needs)
    if (progress.done[need.lane] < need.done) return false;
  for (const PlaceList& source : event.sources)
    if (source.is_link && progress.on_link[source.link] == 0) return false;
  for (const PlaceList& destination : event.destinations)
    if (destination.is_link && progress.on_link[destination.link] >= model_.header().depth) return false;
  return true;
}

void Machine::advance(Progress& progress, std::uint32_t lane) const {
  const Event& event = *next(progress, lane);
  for (const PlaceList& source : event.sources)
    if (source.is_link) --progress.on_link[source.link];
  for (const PlaceList& destination : event.destinations)
    if (destination.is_link) ++progress.on_link[destination.link];
  ++progress.done[lane];
}

std::uint32_t Machine::left(const Memory& memory, const Event& event) const {
  const auto left = memory.left.find({*event.word, event.piece});
  return left != memory.left.end() ? left->second : model_.sharers(*event.word);
}

void Machine::take(Memory& memory, const Event& event, bool does) const {
  const std::uint32_t others = left(memory, event) - 1;
  memory.left[{*event.word, event.piece}] = does ? 0 : others;
}

Latch Machine::read(const Memory& memory, const Event& event) {
  Latch latch;
  if (event.kind != EventKind::move) return latch;
  const bool reduction = is_reduction(model_.header().collective);
  for (const PlaceList& source : event.sources)
    if (source.is_link && memory.links[source.link].front().size() != source.count)
      latch.flaw = flaw(Flaw::unmatched_message, Model::name(event) + " receives a message of another size");
  if (latch.flaw) return latch;
  for (std::uint32_t j = 0; j < event.sources[0].count; ++j) {
    std::vector<ValueId> parts;
    for (const PlaceList& source : event.sources) {
      ValueId value = source.is_link ? memory.links[source.link].front()[j] : memory.places[source.places[j]];
      if (reduction && source.contribution) value = values_.scale(value);
      parts.push_back(value);
    }
    const ValueId combined = values_.combine(parts);
    latch.values.push_back(reduction && event.finish ? values_.finish(combined) : combined);
  }
  return latch;
}

std::optional<Judgement> Machine::write(Memory& memory, const Event& event, const Latch& latch) {
  if (latch.flaw) return latch.flaw;
  if (event.kind == EventKind::begin) begin(memory, event);
  if (event.kind == EventKind::end) {
    auto wrong = check_outputs(memory, event.rank);
    for (const Place place : event.writes) memory.places[place] = junk;  // the user's again
    return wrong;
  }
  for (const PlaceList& source : event.sources) {
    if (!source.is_link) continue;
    // Only where two lanes receive on one link can another have taken it between the halves of this step.
    auto& link = memory.links[source.link];
    if (link.empty()) return flaw(Flaw::race, Model::name(event) + " finds its message taken");
    link.erase(link.begin());
  }
  for (const PlaceList& destination : event.destinations) {
    if (destination.is_link) memory.links[destination.link].push_back(latch.values);
    for (std::uint32_t j = 0; j < destination.places.size(); ++j) {
      const Place place = destination.places[j];
      const auto shape = model_.shape(place);
      const bool fits = !shape || values_.fits(latch.values[j], shape->chunk_in_block, shape->piece,
                                               model_.header().chunks_per_block);
      memory.places[place] = fits ? latch.values[j] : junk;
    }
  }
  return std::nullopt;
}

void Machine::begin(Memory& memory, const Event& event) {
  for (const Place place : event.writes) memory.places[place] = junk;
  const PlanHeader& header = model_.header();
  if (header.collective == Collective::barrier) memory.places[model_.begun(event.rank)] = entered;
  if (!has_input(header, event.rank)) return;
  for (std::uint32_t chunk = 0; chunk < input_chunks(header); ++chunk)
    for (std::uint32_t piece = 0; piece < model_.pieces(); ++piece)
      memory.places[model_.place(Buffer::input, event.rank, chunk, piece)] =
          values_.make({{event.rank, chunk, piece, 0, 0}});
}

std::optional<Judgement> Machine::check_outputs(const Memory& memory, std::uint32_t rank) {
  const PlanHeader& header = model_.header();
  const std::string who = "rank " + std::to_string(rank);
  if (header.collective == Collective::barrier)
    for (std::uint32_t peer = 0; peer < header.ranks; ++peer)
      if (memory.places[model_.begun(peer)] != entered)
        return flaw(Flaw::wrong_output, who + " ends before rank " + std::to_string(peer) + " begins");
  if (!has_output(header, rank)) return std::nullopt;
  for (std::uint32_t chunk = 0; chunk < output_chunks(header); ++chunk)
    for (std::uint32_t piece = 0; piece < model_.pieces(); ++piece)
      if (memory.places[model_.place(Buffer::output, rank, chunk, piece)] !=
          model_.expected(values_, rank, chunk, piece))
        return flaw(Flaw::wrong_output,
                    who + " ends with a wrong output[" + std::to_string(chunk) + "], piece " + std::to_string(piece));
  return std::nullopt;
}

std::optional<Judgement> Machine::at_rest(const Progress& progress) const {
  for (std::uint32_t lane = 0; lane < model_.lanes().size(); ++lane) {
    const Event* event = next(progress, lane);
    if (event != nullptr && event->kind != EventKind::end) return flaw(Flaw::deadlock, Model::name(*event));
  }
  for (const std::uint32_t messages : progress.on_link)
    if (messages != 0) return flaw(Flaw::unmatched_message, "a message that nobody receives");
  return std::nullopt;
}

bool Machine::conflict(const Event& a, const Event& b) {
  const auto meets = [](const std::vector<Place>& writes, const std::vector<Place>& touched) {
    return std::any_of(writes.begin(), writes.end(),
                       [&](Place place) { return std::find(touched.begin(), touched.end(), place) != touched.end(); });
  };
  return meets(a.writes, b.writes) || meets(a.writes, b.reads) || meets(b.writes, a.reads);
}

}  // namespace rondo::test
