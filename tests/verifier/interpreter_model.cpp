#include "verifier/interpreter_model.hpp"

#include <algorithm>
#include <set>

namespace rondo::test {
namespace {

/// A rank's own steps in the order in which one lane does them: (step of the body, piece).
std::vector<std::pair<std::uint32_t, std::uint32_t>> unroll(const std::vector<Step>& steps, std::uint32_t pieces) {
  std::uint32_t largest_skew = 0;
  for (const Step& step : steps) largest_skew = std::max(largest_skew, step.skew);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (std::uint32_t turn = 0; turn < pieces + largest_skew; ++turn)
    for (std::uint32_t s = 0; s < steps.size(); ++s)
      if (turn >= steps[s].skew && turn - steps[s].skew < pieces) order.emplace_back(s, turn - steps[s].skew);
  return order;
}

/// The body's step that is the lane's `number`-th signal; none: the lane has no such signal.
std::optional<std::uint32_t> signal_step(const std::vector<Step>& steps, std::uint32_t number) {
  std::uint32_t seen = 0;
  for (std::uint32_t s = 0; s < steps.size(); ++s)
    if (steps[s].kind == StepKind::signal && seen++ == number) return s;
  return std::nullopt;
}

constexpr std::uint32_t words_per_rank = 16;
constexpr Need never{0, ~std::uint32_t{0}};

bool owns_both(const PlanHeader& header, std::uint32_t rank) {
  return has_input(header, rank) && has_output(header, rank);
}

}  // namespace

Model::Model(const Plan& plan, std::uint32_t pieces, bool in_place)
    : header_(plan.header), pieces_(pieces), in_place_(in_place) {
  for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
    programs_.push_back(plan.program(rank));
    first_lane_.push_back(static_cast<std::uint32_t>(position_.size()));
    position_.emplace_back();  // the user's lane
    for (const Lane& lane : programs_.back().lanes) {
      position_.emplace_back();
      std::uint32_t at = 0;
      for (const auto& key : unroll(lane.steps, pieces_)) position_.back()[key] = at++;
    }
  }
  lanes_.resize(position_.size());
  number_places();
  for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
    add_user_lane(rank);
    for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane)
      add_lane(rank, lane, programs_[rank].lanes[lane].steps);
  }
  add_end_needs();
}

void Model::number_places() {
  for (std::uint32_t rank = 0; rank < header_.ranks; ++rank)
    for (const Lane& lane : programs_[rank].lanes)
      for (const Step& step : lane.steps) {
        if (step.once) ++sharers_[step.once->rank * words_per_rank + step.once->index];
        const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
          links_.try_emplace({from, to, channel}, static_cast<std::uint32_t>(links_.size()));
        };
        for (const Operand& operand : step.sources)
          if (operand.buffer == Buffer::link) add(operand.rank, rank, operand.index);
        for (const Operand& operand : step.destinations)
          if (operand.buffer == Buffer::link) add(rank, operand.rank, operand.index);
      }
  user_chunks_ = std::max(input_chunks(header_), output_chunks(header_));
  scratch_ = header_.ranks * 2 * user_chunks_ * pieces_;
  begun_ = scratch_ + header_.ranks * header_.scratch_chunks * header_.depth;
  ends_ = begun_ + header_.ranks;
  place_count_ = ends_ + 2 * link_count();
}

Place Model::place(Buffer buffer, std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) const {
  if (buffer == Buffer::scratch)
    return scratch_ + (rank * header_.scratch_chunks + chunk) * header_.depth + piece % header_.depth;
  std::uint32_t area = buffer == Buffer::output ? 1 : 0;
  if (in_place_ && owns_both(header_, rank)) {
    const bool gathers = header_.collective == Collective::all_gather || header_.collective == Collective::gather;
    const bool scatters = header_.collective == Collective::reduce_scatter || header_.collective == Collective::scatter;
    if ((gathers && area == 0) || (scatters && area == 1)) chunk += rank * header_.chunks_per_block;
    area = gathers ? 1 : 0;
  }
  return ((rank * 2 + area) * user_chunks_ + chunk) * pieces_ + piece;
}

std::optional<Model::Shape> Model::shape(Place place) const {
  if (place >= scratch_) return std::nullopt;
  return Shape{place / pieces_ % user_chunks_ % header_.chunks_per_block, place % pieces_};
}

void Model::add_user_lane(std::uint32_t rank) {
  Event begin;
  begin.kind = EventKind::begin;
  begin.rank = rank;
  std::set<Place> own;
  for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
    if (has_input(header_, rank))
      for (std::uint32_t c = 0; c < input_chunks(header_); ++c) own.insert(place(Buffer::input, rank, c, piece));
    if (has_output(header_, rank))
      for (std::uint32_t c = 0; c < output_chunks(header_); ++c) own.insert(place(Buffer::output, rank, c, piece));
  }
  begin.writes.assign(own.begin(), own.end());
  Event end = begin;
  end.kind = EventKind::end;
  if (header_.collective == Collective::barrier) {
    begin.writes.push_back(begun(rank));
    for (std::uint32_t peer = 0; peer < header_.ranks; ++peer) end.reads.push_back(begun(peer));
  }
  lanes_[user_lane(rank)] = {std::move(begin), std::move(end)};
}

void Model::add_lane(std::uint32_t rank, std::uint32_t lane, const std::vector<Step>& steps) {
  std::vector<Event>& events = lanes_[lane_number(rank, lane)];
  for (const auto& [number, piece] : unroll(steps, pieces_)) {
    events.push_back(make_event(rank, lane, number, steps[number], piece));
    find_overlap(events.back());
  }
  if (!events.empty()) events[0].needs.push_back({user_lane(rank), 1});
}

void Model::add_end_needs() {
  for (std::uint32_t rank = 0; rank < header_.ranks; ++rank)
    for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane) {
      const std::uint32_t number = lane_number(rank, lane);
      lanes_[user_lane(rank)][1].needs.push_back({number, static_cast<std::uint32_t>(lanes_[number].size())});
    }
}

Need Model::done(std::uint32_t rank, std::uint32_t lane, std::uint32_t step, std::uint32_t piece) const {
  if (lane >= programs_[rank].lanes.size()) return never;
  const std::uint32_t number = lane_number(rank, lane);
  const auto at = position_[number].find({step, piece});
  return at == position_[number].end() ? never : Need{number, at->second + 1};
}

Event Model::make_event(std::uint32_t rank, std::uint32_t lane, std::uint32_t number, const Step& step,
                        std::uint32_t piece) {
  Event event;
  event.rank = rank;
  event.plan_lane = lane;
  event.step = number;
  event.piece = piece;
  for (const After& after : step.after) event.needs.push_back(done(rank, after.lane, after.step, piece));
  if (step.kind == StepKind::wait && piece >= step.wait.lag) {
    const WaitFor& wait = step.wait;
    const bool exists = wait.rank < header_.ranks && wait.lane < programs_[wait.rank].lanes.size();
    const auto awaited = exists ? signal_step(programs_[wait.rank].lanes[wait.lane].steps, wait.signal) : std::nullopt;
    event.needs.push_back(awaited ? done(wait.rank, wait.lane, *awaited, piece - wait.lag) : never);
  }
  if (step.kind == StepKind::wait || step.kind == StepKind::signal) return event;
  event.kind = EventKind::move;
  if (step.once) event.word = step.once->rank * words_per_rank + step.once->index;
  event.finish = step.finish && header_.ranks > 1;
  for (const Operand& operand : step.sources) event.sources.push_back(lay_out(operand, event, false));
  for (const Operand& operand : step.destinations) event.destinations.push_back(lay_out(operand, event, true));
  if (step.kind == StepKind::copy && !is_reduction(header_.collective)) forget_self_copies(event);
  return event;
}

/// What a copy would write where it has read it from stays as it is, and what isn't written elsewhere need not be read.
void Model::forget_self_copies(Event& event) {
  const PlaceList& source = event.sources.front();
  std::set<Place> read;
  std::set<Place> written;
  for (const PlaceList& list : event.destinations)
    for (std::uint32_t j = 0; j < list.count && !source.is_link; ++j) {
      if (!list.is_link && list.places[j] == source.places[j]) continue;
      read.insert(source.places[j]);
      if (!list.is_link) written.insert(list.places[j]);
    }
  if (source.is_link) return;
  event.reads.assign(read.begin(), read.end());
  std::erase_if(event.writes, [&](Place place) { return place < ends_ && !written.contains(place); });
}

PlaceList Model::lay_out(const Operand& operand, Event& event, bool destination) {
  PlaceList list;
  list.count = operand.count;
  if (operand.buffer == Buffer::link) {
    list.is_link = true;
    list.link = destination ? links_.at({event.rank, operand.rank, operand.index})
                            : links_.at({operand.rank, event.rank, operand.index});
    event.writes.push_back(ends_ + 2 * list.link + (destination ? 0 : 1));
    return list;
  }
  const std::uint32_t owner = operand.rank == self ? event.rank : operand.rank;
  list.contribution = operand.buffer == Buffer::input;
  for (std::uint32_t j = 0; j < operand.count; ++j)
    list.places.push_back(place(operand.buffer, owner, operand.index + j, event.piece));
  auto& touched = destination ? event.writes : event.reads;
  touched.insert(touched.end(), list.places.begin(), list.places.end());
  return list;
}

/// Chunk j of a step may write the place that chunk j reads; any other meeting of chunks has no defined order.
void Model::find_overlap(const Event& event) {
  std::map<Place, std::uint32_t> written;
  for (const PlaceList& list : event.destinations)
    for (std::uint32_t j = 0; j < list.places.size(); ++j) {
      const auto [at, fresh] = written.try_emplace(list.places[j], j);
      if (!fresh && at->second != j) overlap_ = name(event);
    }
  for (const PlaceList& list : event.sources)
    for (std::uint32_t j = 0; j < list.places.size(); ++j) {
      const auto at = written.find(list.places[j]);
      if (at != written.end() && at->second != j) overlap_ = name(event);
    }
}

ValueId Model::expected(Values& values, std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) const {
  const std::uint32_t each = header_.chunks_per_block;
  switch (header_.collective) {
    case Collective::broadcast:
      return values.make({{header_.root, chunk, piece, 0, 0}});
    case Collective::send_recv:
      return values.make({{0, chunk, piece, 0, 0}});
    case Collective::scatter:
      return values.make({{header_.root, rank * each + chunk, piece, 0, 0}});
    case Collective::all_gather:
    case Collective::gather:
      return values.make({{chunk / each, chunk % each, piece, 0, 0}});
    case Collective::all_to_all:
    case Collective::all_to_all_v:
      return values.make({{chunk / each, rank * each + chunk % each, piece, 0, 0}});
    default:
      break;
  }
  const std::uint32_t from = header_.collective == Collective::reduce_scatter ? rank * each + chunk : chunk;
  std::vector<Term> terms;
  const std::uint32_t contributors = header_.collective == Collective::scan ? rank + 1 : header_.ranks;
  for (std::uint32_t peer = 0; peer < contributors; ++peer)
    terms.push_back({peer, from, piece, 1, header_.ranks > 1 ? 1u : 0u});
  return values.make(std::move(terms));
}

std::string Model::name(const Event& event) {
  const std::string rank = "rank " + std::to_string(event.rank);
  if (event.kind == EventKind::begin) return rank + "'s begin";
  if (event.kind == EventKind::end) return rank + "'s end";
  return rank + ", lane " + std::to_string(event.plan_lane) + ", step " + std::to_string(event.step) + ", piece " +
         std::to_string(event.piece);
}

std::string Model::circumstances() const {
  return std::string(in_place_ ? "in place" : "out of place") + ", " + std::to_string(pieces_) + " pieces";
}

}  // namespace rondo::test
