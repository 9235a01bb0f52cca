// Which ranks go on without those that have gone, and whether what they made together holds: the agreement of shrink(), as a state machine that
// touches nothing. Its events come from looks at peers, its actions are a word to publish and what to do next. Design: docs/design/0015-shrink.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// What a rank says of itself in an attempt. It only goes on: from entered to one of the others, from an attempt to the next.
enum class Vote : std::uint8_t { none, entered, joined, lost, refused };

/// The word that a rank publishes: attempt << 8 | left << 7 | ended << 6 | vote. 0: it hasn't been asked to shrink.
struct SurvivorWord {
  std::uint64_t attempt = 0;
  Vote vote = Vote::none;
  bool ended = false;  ///< it has an answer: in this attempt it says no more
  bool left = false;  ///< it has destroyed the communicator: this is its last word

  std::uint64_t bits() const { return attempt << 8 | std::uint64_t{left} << 7 | std::uint64_t{ended} << 6 | static_cast<std::uint64_t>(vote); }
  /// Any bits are a word: a peer's memory is not to be trusted. Votes that there aren't are refusals.
  static SurvivorWord of(std::uint64_t bits);
};

class Survivors {
 public:
  enum class State : std::uint8_t {
    gathering,  ///< who takes part? Every peer enters, or goes away without
    meeting,    ///< those that entered make a communicator
    voting,     ///< did they all?
    going_on,   ///< yes
    given_up,   ///< somebody can't for a reason of its own, so that another attempt would be no better
  };
  enum class Event : std::uint8_t { complete, met, lost, refused, all_joined, one_lost, one_refused };

  /// Rank `rank` of `size` enters attempt number `attempt`, its first here.
  Survivors(std::uint32_t rank, std::uint32_t size, std::uint64_t attempt);

  State state() const { return state_; }
  std::uint64_t attempt() const { return own_.attempt; }
  /// What peers are to see, before this rank does anything else.
  std::uint64_t word() const { return own_.bits(); }
  /// From meeting on: the ranks that entered, ascending; the same on all of them.
  const std::vector<std::uint32_t>& members() const { return members_; }
  /// Whether that rank won't come to this attempt's meeting any more.
  bool stays_away(std::uint32_t peer) const;
  /// Whose words are waited for, "1, 3"; "" when none is.
  std::string missing() const;
  /// Given up because of this rank; none: it is this one.
  std::optional<std::uint32_t> refuser() const { return refuser_; }

  // Events.
  /// A look at a peer. `gone`: it was known to have gone before its word was read, which is its last then, and counts for what it doesn't say.
  void saw(std::uint32_t peer, std::uint64_t word, bool gone);
  void met() { take(Event::met); }      ///< this rank has what they made
  void lost() { take(Event::lost); }    ///< it hasn't, because of another rank
  void refuse() { take(Event::refused); }  ///< it can't, whoever else can; or won't wait any longer. Not while it votes: its vote may have been read

  /// The state behind an event, none where it can't happen there: the machine as a table, for a test that walks it.
  static std::optional<State> next(State state, Event event);

 private:
  struct Peer {
    SurvivorWord word;
    bool final = false;  ///< the word is its last
  };

  bool entered(const Peer& peer) const;
  Vote vote_of(const Peer& peer) const;
  void take(Event event);
  void settle();
  std::optional<Event> gathered() const;
  std::optional<Event> voted() const;

  std::uint32_t rank_;
  SurvivorWord own_;
  State state_ = State::gathering;
  std::vector<Peer> peers_;
  std::vector<std::uint32_t> members_;
  std::optional<std::uint32_t> refuser_;
};

}  // namespace rondo
