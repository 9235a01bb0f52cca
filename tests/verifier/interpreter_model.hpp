// A plan laid out for the interpreters: each lane as the list of events that it performs for a given number of pieces,
// with places of memory numbered through all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "rondo/plan.hpp"
#include "verifier/interpreter_values.hpp"

namespace rondo::test {

using Place = std::uint32_t;  ///< one chunk's piece in some rank's memory, or an end of a link

/// Enabled only once lane `lane` (numbered through all ranks) has done `done` events.
struct Need {
  std::uint32_t lane = 0;
  std::uint32_t done = 0;
};

/// An operand of one event: places of memory (one a chunk), or a message.
struct PlaceList {
  bool is_link = false;
  bool contribution = false;  ///< read from `input`
  std::uint32_t link = 0;
  std::uint32_t count = 0;
  std::vector<Place> places;
};

enum class EventKind : std::uint8_t { begin, end, move, sync };

/// One step for one piece. `begin` and `end` are the user's: a rank's call starts and returns.
struct Event {
  EventKind kind = EventKind::sync;
  std::uint32_t rank = 0;
  std::uint32_t plan_lane = 0;
  std::uint32_t step = 0;
  std::uint32_t piece = 0;
  bool finish = false;
  std::optional<std::uint32_t> word;  ///< made once, by whoever takes this word for its piece
  std::vector<Need> needs;
  std::vector<PlaceList> sources;
  std::vector<PlaceList> destinations;
  std::vector<Place> reads;  ///< all that it reads and writes, link ends among them: what races are judged by
  std::vector<Place> writes;
};

class Model {
 public:
  /// `in_place`: with the alias that the collective has. Nothing in the plan may be impossible (limits_of).
  Model(const Plan& plan, std::uint32_t pieces, bool in_place);

  const PlanHeader& header() const { return header_; }
  std::uint32_t pieces() const { return pieces_; }
  const std::vector<std::vector<Event>>& lanes() const { return lanes_; }
  std::uint32_t place_count() const { return place_count_; }
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  /// How many ranks share out a copy by this word.
  std::uint32_t sharers(std::uint32_t word) const { return sharers_.at(word); }
  /// Set when a step's operands overlap in part in this layout.
  const std::optional<std::string>& overlap() const { return overlap_; }

  /// The value of `output` chunk `chunk`, piece `piece` that rank `rank` must end with.
  ValueId expected(Values& values, std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) const;
  /// The place of a chunk's piece.
  Place place(Buffer buffer, std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) const;
  /// Where a barrier's rank says that it has begun.
  Place begun(std::uint32_t rank) const { return begun_ + rank; }
  /// For a place in inputs and outputs: its chunk within the block and its piece.
  struct Shape {
    std::uint32_t chunk_in_block;
    std::uint32_t piece;
  };
  std::optional<Shape> shape(Place place) const;
  /// "rank 1, lane 0, step 3, piece 2".
  static std::string name(const Event& event);
  std::string circumstances() const;

 private:
  void number_places();
  void add_user_lane(std::uint32_t rank);
  void add_lane(std::uint32_t rank, std::uint32_t lane, const std::vector<Step>& steps);
  void add_end_needs();
  Event make_event(std::uint32_t rank, std::uint32_t lane, std::uint32_t number, const Step& step, std::uint32_t piece);
  /// After that step for that piece: never, if there is none.
  Need done(std::uint32_t rank, std::uint32_t lane, std::uint32_t step, std::uint32_t piece) const;
  PlaceList lay_out(const Operand& operand, Event& event, bool destination);
  void find_overlap(const Event& event);
  void forget_self_copies(Event& event);
  std::uint32_t user_lane(std::uint32_t rank) const { return first_lane_[rank]; }
  std::uint32_t lane_number(std::uint32_t rank, std::uint32_t lane) const { return first_lane_[rank] + 1 + lane; }

  const PlanHeader header_;
  const std::uint32_t pieces_;
  const bool in_place_;
  std::vector<Program> programs_;
  std::vector<std::uint32_t> first_lane_;  // of each rank: its user's lane; the plan's lanes follow
  std::vector<std::vector<Event>> lanes_;
  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>> position_;  // (step, piece) → event
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> links_;  // from, to, channel
  std::uint32_t user_chunks_ = 0;  // of one rank's input, and of its output where that is memory of its own
  std::uint32_t scratch_ = 0;
  std::uint32_t begun_ = 0;
  std::uint32_t ends_ = 0;
  std::uint32_t place_count_ = 0;
  std::map<std::uint32_t, std::uint32_t> sharers_;  // by word
  std::optional<std::string> overlap_;
};

}  // namespace rondo::test
