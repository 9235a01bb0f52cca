#include "bootstrap/rounds.hpp"

#include <algorithm>
#include <utility>

#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

constexpr std::size_t most_names = 8;  // in an error

}  // namespace

void Rounds::branch(TreePlace place) {
  place_ = std::move(place);
  given_.assign(place_.children.size(), false);
  unsent_ = given_;
}

std::vector<std::uint32_t> Rounds::children_with(const std::vector<bool>& flags, bool flag) const {
  std::vector<std::uint32_t> children;
  for (std::size_t child = 0; child < flags.size(); ++child)
    if (flags[child] == flag) children.push_back(place_.children[child]);
  return children;
}

std::vector<std::uint32_t> Rounds::missing_here() const {
  if (!in_round()) return awaited_;
  return state_ == State::gathering ? missing_children() : std::vector<std::uint32_t>();
}

std::int64_t Rounds::next_ns() const {
  if (is_root()) return deadline_ns_ + (asked_ ? asking_ns : 0);
  return deadline_ns_ + verdict_grace_ns * place_.depth;
}

void Rounds::enter(std::int64_t deadline_ns) {
  if (state_ == State::failed) return;
  state_ = State::gathering;
  deadline_ns_ = deadline_ns;
  awaited_.clear();
  asked_ = false;
  spoke_.assign(spoke_.size(), false);
  reported_.clear();
  go_on();
}

/// Gathering, and a gift has come.
void Rounds::go_on() {
  if (state_ != State::gathering || std::find(given_.begin(), given_.end(), false) != given_.end()) return;
  if (is_root()) return spread();
  state_ = State::waiting;
  letters_.push_back({place_.parent, Letter::Kind::gift});
}

void Rounds::spread() {
  state_ = State::spreading;
  // From here on a child's gift is its next round's: it may enter that before this rank has ended this one.
  given_.assign(given_.size(), false);
  unsent_.assign(unsent_.size(), true);
  for (const std::uint32_t child : place_.children) letters_.push_back({child, Letter::Kind::all});
  end_spreading();
}

void Rounds::sent(std::uint32_t rank) {
  const auto child = place_.child(rank);
  if (state_ != State::spreading || !child) return;
  unsent_[*child] = false;
  end_spreading();
}

void Rounds::end_spreading() {
  if (std::find(unsent_.begin(), unsent_.end(), true) == unsent_.end()) state_ = State::outside;
}

void Rounds::hear(std::uint32_t from, Letter::Kind kind, const std::vector<std::uint32_t>& ranks) {
  if (state_ == State::failed) return;
  const auto nonsense = [&] { lose(from, in_bootstrap(Errc::invalid_argument, "it says what isn't its turn")); };
  const auto child = place_.child(from);
  switch (kind) {
    case Letter::Kind::gift:
      if (!child || given_[*child]) return nonsense();
      given_[*child] = true;
      return go_on();
    case Letter::Kind::all:
      return from == place_.parent && state_ == State::waiting ? spread() : nonsense();
    case Letter::Kind::who_is_missing:
      if (from != 0 || is_root()) return nonsense();
      // Who waits for nobody says nothing: it is missing itself.
      if (in_round() || !awaited_.empty()) letters_.push_back({0, Letter::Kind::missing, missing_here()});
      return;
    case Letter::Kind::missing:
      if (!is_root()) return nonsense();
      spoke_[from] = true;
      reported_.insert(reported_.end(), ranks.begin(), ranks.end());
      return;
    case Letter::Kind::verdict: break;  // without a reason
  }
  nonsense();
}

void Rounds::hear_verdict(const Error& verdict) {
  if (state_ != State::failed) fail(verdict);
}

void Rounds::lose(std::uint32_t peer, const Error& cause) {
  if (state_ == State::failed) return;
  // Rank 0 may leave when it is through, while others wait for it by way of others still; if it was lost, these say so.
  if (cause.code == Errc::io && state_ == State::waiting && peer == 0 && place_.parent != 0) return;
  fail(lost(peer, whom_(peer), cause));
}

void Rounds::pass_time(std::int64_t now_ns) {
  if (!in_round() || now_ns < next_ns()) return;
  if (state_ == State::spreading) return fail(late(children_with(unsent_, true)));
  // Its parent had less patience, and hasn't said a word.
  if (!is_root()) return fail(late({place_.parent}));
  if (asked_) return fail(missing());
  asked_ = true;
  for (std::uint32_t rank = 1; rank < place_.size; ++rank) letters_.push_back({rank, Letter::Kind::who_is_missing});
}

/// Rank 0: a child that answers isn't missing, those that it misses are.
Error Rounds::missing() const {
  std::vector<std::uint32_t> ranks = missing_children();
  ranks.insert(ranks.end(), reported_.begin(), reported_.end());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::erase_if(ranks, [this](std::uint32_t rank) { return rank >= spoke_.size() || spoke_[rank]; });
  return late(ranks.empty() ? missing_children() : ranks);
}

std::string Rounds::name(std::uint32_t rank) const { return name_of(rank, whom_(rank)); }

Error Rounds::late(const std::vector<std::uint32_t>& ranks) const {
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), most_names); ++i) names += (i == 0 ? "" : ", ") + name(ranks[i]);
  if (ranks.size() > most_names) names += " and " + std::to_string(ranks.size() - most_names) + " more";
  return in_bootstrap(Errc::deadline_exceeded, names + " did not answer in time");
}

void Rounds::give_up(const Error& error) {
  if (state_ == State::failed) return;
  const bool of_another = error.code == Errc::peer_failed || error.code == Errc::deadline_exceeded || error.code == Errc::mismatch;
  fail(error, of_another ? error : in_bootstrap(Errc::peer_failed, name(place_.rank) + " could not join: " + error.detail));
}

void Rounds::fail(const Error& own) { fail(own, own); }

void Rounds::fail(const Error& own, const Error& verdict) {
  state_ = State::failed;
  error_ = own;
  verdict_ = verdict;
  letters_.clear();
}

}  // namespace rondo
