#include "simulation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "communicator/survivors.hpp"
#include "words.hpp"

namespace survivors_test {
namespace {

using rondo::Survivors;
using State = Survivors::State;

constexpr std::uint32_t most_ranks = 6;
constexpr int most_events = 1000; // in which anything may happen; then the world is kind
constexpr int most_rounds = 200;  // of kindness

struct Rank {
  std::optional<Survivors> machine;  ///< none: it hasn't called shrink()
  std::uint64_t word = 0;            ///< what it published
  bool crashed = false, left = false;
  int sleeps_until = 0;              ///< which event: it misses what others say meanwhile
  bool never_calls = false;          ///< it will leave or crash instead
  std::optional<std::uint64_t> arrived;  ///< at the meeting of that attempt
  std::uint64_t met = 0;                 ///< the last attempt whose meeting was a success for it
  bool refused = false, gave_up = false, went_on = false, given_up = false;

  bool alive() const { return !crashed && !left; }
};

class World {
 public:
  World(std::uint64_t seed, std::string* log)
      : random_(seed), log_(log), ranks_(2 + random_() % (most_ranks - 1)),
        words_(random_() % 2 == 0 ? words_in_memory(size(), random_) : words_between_hosts(size(), random_)) {
    crashes_left_ = static_cast<int>(random_() % size());
    may_refuse_ = random_() % 4 == 0;
    for (Rank& rank : ranks_) rank.never_calls = random_() % 8 == 0;
    if (random_() % 8 != 0) crash(pick());  // else nobody has died: the same ranks once more
  }

  std::string run() {
    for (int event = 0; event < most_events && wrong_.empty(); ++event) {
      const std::uint32_t rank = pick();
      if (event < ranks_[rank].sleeps_until || !ranks_[rank].alive()) continue;
      if (one_in(30)) ranks_[rank].sleeps_until = event + static_cast<int>(random_() % 200);
      act(rank);
    }
    crashes_left_ = 0;
    may_refuse_ = false;
    for (int round = 0; round < most_rounds && wrong_.empty() && !all_ended(); ++round)
      for (std::uint32_t rank = 0; rank < size(); ++rank)
        if (ranks_[rank].alive()) be_kind(rank);
    if (wrong_.empty() && !all_ended()) wrong_ = "somebody waits for ever";
    if (wrong_.empty()) judge();
    return wrong_;
  }

 private:
  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  std::uint32_t pick() { return static_cast<std::uint32_t>(random_() % size()); }
  bool one_in(std::uint32_t n) { return random_() % n == 0; }

  void note(std::uint32_t rank, const std::string& what) {
    if (log_ != nullptr) *log_ += "rank " + std::to_string(rank) + " " + what + "\n";
  }

  bool may_crash(std::uint32_t n) {
    if (crashes_left_ == 0 || !one_in(n)) return false;
    --crashes_left_;
    return true;
  }

  void crash(std::uint32_t rank) {
    ranks_[rank].crashed = true;
    words_->crash(rank);
    ++crashes_;
    note(rank, "crashes");
  }

  void leave(std::uint32_t rank) {
    ranks_[rank].left = true;
    words_->leave(rank);
    note(rank, "leaves");
  }

  /// One thing that may happen on this rank.
  void act(std::uint32_t rank) {
    Rank& self = ranks_[rank];
    if (may_crash(200)) return crash(rank);
    if (!self.machine) return self.never_calls ? (one_in(6) ? leave(rank) : void()) : (one_in(3) ? call(rank) : void());
    if (ended(self)) return one_in(8) ? leave(rank) : void();
    if (random_() % 4 == 0 || waits_at_meeting(rank)) return meet_or_refuse(rank);
    const std::string what = words_->step(rank, *self.machine);
    return publish(rank, what);
  }

  /// All that this rank can do now, in order.
  void be_kind(std::uint32_t rank) {
    Rank& self = ranks_[rank];
    if (!self.machine) return self.never_calls ? leave(rank) : call(rank);
    if (ended(self)) return;
    if (!waits_at_meeting(rank)) words_->catch_up(rank, *self.machine);
    publish(rank, "");
    if (self.alive() && !ended(self)) meet_or_refuse(rank);
  }

  void call(std::uint32_t rank) {
    ranks_[rank].machine.emplace(rank, size(), 1);
    publish(rank, "calls shrink()");
  }

  /// Whoever has come to a meeting that is held hears nothing but of its end; the first member holds it, and hears all.
  bool waits_at_meeting(std::uint32_t rank) const {
    const Rank& self = ranks_[rank];
    if (self.machine->state() != State::meeting || self.arrived != self.machine->attempt()) return false;
    const std::uint32_t first = self.machine->members().front();
    return first != rank && ranks_[first].arrived >= self.arrived;
  }

  /// The meeting succeeds for a rank only when all members came to it, and may fail for it whenever one of them has crashed, even then.
  void meet_or_refuse(std::uint32_t rank) {
    Rank& self = ranks_[rank];
    Survivors& machine = *self.machine;
    if (may_refuse_ && one_in(30) && (machine.state() == State::gathering || machine.state() == State::meeting)) {
      self.refused = true;
      machine.refuse();
      return publish(rank, "refuses");
    }
    if (machine.state() != State::meeting) return;
    if (self.arrived != machine.attempt()) {
      self.arrived = machine.attempt();
      meetings_[{machine.attempt(), machine.members()}].insert(rank);
      for (const Rank& other : ranks_)
        if (other.alive() && !words_->is_torn() && other.arrived == self.arrived && other.machine->attempt() == machine.attempt() &&
            other.machine->members() != machine.members())
          wrong_ = "ranks meet in attempt " + std::to_string(machine.attempt()) + " with different members";
      return note(rank, "comes to meeting " + std::to_string(machine.attempt()));
    }
    bool all_came = true, one_lost = false, in_vain = false;
    const std::uint32_t first = machine.members().front();
    const std::set<std::uint32_t>& came = meetings_[{machine.attempt(), machine.members()}];
    for (const std::uint32_t member : machine.members()) {
      all_came = all_came && came.count(member) != 0;
      one_lost = one_lost || !ranks_[member].alive() || ranks_[member].refused;
      // The first one waits for all, the others for the first one. Who has come is seen to hang up, or not to answer any more.
      if (rank != first && member != first) continue;
      if (came.count(member) == 0) in_vain = in_vain || is_elsewhere(member, machine) || machine.stays_away(member) || words_->knows_gone(rank, member);
      else in_vain = in_vain || !ranks_[member].alive() || (words_->is_torn() && words_->knows_gone(rank, member));
    }
    const Survivors& holder = *ranks_[first].machine;
    const bool is_over = came.count(first) != 0 && (holder.state() != State::meeting || holder.attempt() != machine.attempt());
    if (all_came && (!one_lost || one_in(2))) {
      self.met = machine.attempt();
      machine.met();
      publish(rank, "has met all");
      if (may_crash(3)) crash(rank);  // while others may be at the meeting still
      return;
    }
    if ((all_came && one_lost) || in_vain || (rank != first && is_over && !all_came)) {
      machine.lost();
      publish(rank, "misses somebody");
    }
  }

  /// A rank of a torn world, who thinks of other members.
  bool is_elsewhere(std::uint32_t rank, const Survivors& machine) const {
    const Rank& other = ranks_[rank];
    if (!words_->is_torn() || !other.machine) return false;
    return ended(other) || other.machine->attempt() > machine.attempt() ||
           (other.machine->attempt() == machine.attempt() && !other.machine->members().empty() && other.machine->members() != machine.members());
  }

  void publish(std::uint32_t rank, const std::string& what) {
    Rank& self = ranks_[rank];
    if (!what.empty()) note(rank, what);
    if (self.machine->word() < self.word) wrong_ = "rank " + std::to_string(rank) + " takes back what it said";
    self.word = self.machine->word();
    words_->publish(rank, self.word);
    if (words_->is_given_up(rank)) {
      self.given_up = true;
      return leave(rank);
    }
    self.went_on = self.went_on || self.machine->state() == State::going_on;
    self.gave_up = self.gave_up || self.machine->state() == State::given_up;
  }

  static bool ended(const Rank& rank) { return rank.went_on || rank.gave_up; }
  bool all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.alive() || ended(rank); });
  }

  /// Whether it went on, as far as others can know: what it said last may have reached nobody.
  bool counts(const Rank& rank) const { return rank.went_on && (!rank.crashed || words_->outlive_crashes()); }

  /// What must be true of every run.
  void judge() {
    if (words_->is_torn()) return judge_torn();
    const Rank* first = nullptr;
    bool refused = false;
    for (const Rank& rank : ranks_) refused = refused || rank.refused;
    for (std::uint32_t k = 0; k < size() && wrong_.empty(); ++k) {
      const Rank& rank = ranks_[k];
      const std::string who = "rank " + std::to_string(k);
      if (rank.gave_up && !refused) wrong_ = who + " gave up, and nobody had refused";
      if (!counts(rank)) continue;
      if (first == nullptr) first = &rank;
      if (rank.machine->attempt() != first->machine->attempt() || rank.machine->members() != first->machine->members())
        wrong_ = who + " goes on with others than the first does";
      if (!refused && rank.machine->attempt() > static_cast<std::uint64_t>(crashes_) + 1) wrong_ = "more attempts than crashes";
    }
    if (first == nullptr) return;
    for (std::uint32_t k = 0; k < size() && wrong_.empty(); ++k) {
      const auto& members = first->machine->members();
      const bool is_member = std::count(members.begin(), members.end(), k) != 0;
      const std::string who = "rank " + std::to_string(k);
      if (ranks_[k].gave_up && (!ranks_[k].crashed || words_->outlive_crashes())) wrong_ = who + " gave up, and another went on";
      if (counts(ranks_[k]) && !is_member) wrong_ = who + " goes on and is no member";
      if (ranks_[k].alive() && !is_member) wrong_ = who + " lives and was left behind";
      if (is_member && ranks_[k].met != first->machine->attempt()) wrong_ = who + " has not met the others, who go on with it";
      if (!ranks_[k].machine && is_member) wrong_ = who + " never called, and is a member";
    }
  }

  /// Ranks that can't reach one another may go on apart, and one may have left what was made in an attempt when the last vote reached the others, but not it.
  /// But whoever goes on has met all of its members, and those that go on from the same attempt think the same.
  void judge_torn() {
    for (std::uint32_t k = 0; k < size() && wrong_.empty(); ++k) {
      if (!counts(ranks_[k])) continue;
      const Survivors& own = *ranks_[k].machine;
      for (const std::uint32_t member : own.members()) {
        const Rank& other = ranks_[member];
        const std::string who = "rank " + std::to_string(member);
        if (other.met < own.attempt()) wrong_ = who + " has not met rank " + std::to_string(k) + ", which goes on with it";
        if (counts(other) && other.machine->attempt() == own.attempt() && other.machine->members() != own.members())
          wrong_ = who + " goes on with others than rank " + std::to_string(k) + ", which goes on with it";
      }
    }
  }

  Random random_;
  std::string* log_;
  std::vector<Rank> ranks_;
  std::unique_ptr<Words> words_;
  int crashes_left_ = 0, crashes_ = 0;
  bool may_refuse_ = false;
  std::map<std::pair<std::uint64_t, std::vector<std::uint32_t>>, std::set<std::uint32_t>> meetings_;  // by attempt and members: who came
  std::string wrong_;
};

}  // namespace

std::string simulate(std::uint64_t seed, std::string* log) { return World(seed, log).run(); }

}  // namespace survivors_test
