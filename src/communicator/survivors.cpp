#include "communicator/survivors.hpp"

#include <algorithm>
#include <array>

namespace rondo {
namespace {

using State = Survivors::State;
using Event = Survivors::Event;

struct Edge {
  State from;
  Event event;
  State to;
};

constexpr std::array edges{
    Edge{State::gathering, Event::complete, State::meeting},   Edge{State::gathering, Event::one_refused, State::given_up},
    Edge{State::gathering, Event::refused, State::given_up},   Edge{State::meeting, Event::met, State::voting},
    Edge{State::meeting, Event::lost, State::voting},          Edge{State::meeting, Event::refused, State::given_up},
    Edge{State::voting, Event::all_joined, State::going_on},   Edge{State::voting, Event::one_lost, State::gathering},
    Edge{State::voting, Event::one_refused, State::given_up},
};

}  // namespace

SurvivorWord SurvivorWord::of(std::uint64_t bits) {
  SurvivorWord word;
  word.attempt = bits >> 8;
  word.left = (bits >> 7 & 1) != 0;
  word.ended = (bits >> 6 & 1) != 0;
  word.vote = static_cast<Vote>(std::min<std::uint64_t>(bits & 63, static_cast<std::uint64_t>(Vote::refused)));
  return word;
}

Survivors::Survivors(std::uint32_t rank, std::uint32_t size, std::uint64_t attempt) : rank_(rank), own_{attempt, Vote::entered}, peers_(size) { settle(); }

std::optional<Survivors::State> Survivors::next(State state, Event event) {
  const auto edge = std::find_if(edges.begin(), edges.end(), [&](const Edge& each) { return each.from == state && each.event == event; });
  if (edge == edges.end()) return std::nullopt;
  return edge->to;
}

void Survivors::saw(std::uint32_t peer, std::uint64_t bits, bool gone) {
  if (peer == rank_) return;
  const SurvivorWord word = SurvivorWord::of(bits);
  peers_[peer] = {word, gone || word.left};
  settle();
}

bool Survivors::entered(const Peer& peer) const {
  return peer.word.attempt > own_.attempt || (peer.word.attempt == own_.attempt && peer.word.vote != Vote::none);
}

/// A rank that is in a later attempt has seen this one fail. One that went away without a vote is lost.
Vote Survivors::vote_of(const Peer& peer) const {
  if (peer.word.attempt > own_.attempt) return Vote::lost;
  const Vote vote = peer.word.attempt == own_.attempt ? peer.word.vote : Vote::none;
  return vote <= Vote::entered && peer.final ? Vote::lost : vote;
}

bool Survivors::stays_away(std::uint32_t peer) const { return peer != rank_ && vote_of(peers_[peer]) >= Vote::lost; }

std::string Survivors::missing() const {
  std::string names;
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) {
    const bool waits = state_ == State::gathering ? !entered(peers_[peer]) && !peers_[peer].final
                                                  : state_ == State::voting && vote_of(peers_[peer]) == Vote::entered;
    if (peer != rank_ && waits) names += (names.empty() ? "" : ", ") + std::to_string(peer);
  }
  return names;
}

void Survivors::take(Event event) {
  const auto to = next(state_, event);
  if (!to) return;
  if (event == Event::met) own_.vote = Vote::joined;
  if (event == Event::lost) own_.vote = Vote::lost;
  // Nobody is to wait for a vote that this rank won't give.
  if (event == Event::refused || (event == Event::one_refused && state_ == State::gathering)) own_.vote = Vote::refused;
  if (event == Event::one_lost) own_ = {own_.attempt + 1, Vote::entered};
  state_ = *to;
  own_.ended = state_ == State::going_on || state_ == State::given_up;
  settle();
}

/// What the words that were seen say by now.
void Survivors::settle() {
  const auto event = state_ == State::gathering ? gathered() : state_ == State::voting ? voted() : std::nullopt;
  if (!event) return;
  if (*event == Event::one_refused) {
    const auto refused = [&](const Peer& peer) { return peer.word.attempt == own_.attempt && peer.word.vote == Vote::refused; };
    const auto found = std::find_if(peers_.begin(), peers_.end(), refused);
    if (found != peers_.end()) refuser_ = static_cast<std::uint32_t>(found - peers_.begin());
  }
  if (*event == Event::complete) {
    members_.clear();
    for (std::uint32_t peer = 0; peer < peers_.size(); ++peer)
      if (peer == rank_ || entered(peers_[peer])) members_.push_back(peer);
  }
  take(*event);
}

/// Every rank that reads all words to the end reads the same: what a rank published stays where it is, whatever becomes of it.
std::optional<Survivors::Event> Survivors::gathered() const {
  bool complete = true;
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) {
    if (peer == rank_) continue;
    if (peers_[peer].word.attempt == own_.attempt && peers_[peer].word.vote == Vote::refused) return Event::one_refused;
    complete = complete && (entered(peers_[peer]) || peers_[peer].final);
  }
  if (!complete) return std::nullopt;
  return Event::complete;
}

/// All votes first: one who heard of a loss alone would begin again, one who heard of a refusal would not.
std::optional<Survivors::Event> Survivors::voted() const {
  bool lost = own_.vote == Vote::lost, refused = false;
  for (const std::uint32_t peer : members_) {
    if (peer == rank_) continue;
    const Vote vote = vote_of(peers_[peer]);
    if (vote <= Vote::entered) return std::nullopt;
    lost = lost || vote == Vote::lost;
    refused = refused || vote == Vote::refused;
  }
  return refused ? Event::one_refused : lost ? Event::one_lost : Event::all_joined;
}

}  // namespace rondo
