#include "simulation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "communicator/survivors.hpp"

namespace survivors_test {
namespace {

using rondo::Survivors;
using State = Survivors::State;

constexpr std::uint32_t most_ranks = 6;
constexpr int most_events = 1000; // in which anything may happen; then the world is kind
constexpr int most_rounds = 200;  // of kindness

/// A look that has been taken and not been heard of.
struct Look {
  std::uint32_t at = 0;
  std::uint64_t word = 0;
  bool gone = false;
};

struct Rank {
  std::optional<Survivors> machine;  ///< none: it hasn't called shrink()
  std::uint64_t word = 0;            ///< what it published, in memory that outlives it
  bool crashed = false, left = false;
  int sleeps_until = 0;              ///< which event: it misses what others say meanwhile
  bool never_calls = false;          ///< it will leave or crash instead
  std::vector<bool> knows_gone;      ///< by peer
  std::vector<Look> looks;
  std::optional<std::uint64_t> arrived;  ///< at the meeting of that attempt
  std::uint64_t met = 0;                 ///< the last attempt whose meeting was a success for it
  bool refused = false, gave_up = false, went_on = false;

  bool alive() const { return !crashed && !left; }
};

class World {
 public:
  World(std::uint64_t seed, std::string* log) : random_(seed), log_(log), ranks_(2 + random_() % (most_ranks - 1)) {
    crashes_left_ = static_cast<int>(random_() % size());
    may_refuse_ = random_() % 4 == 0;
    for (Rank& rank : ranks_) {
      rank.knows_gone.resize(size());
      rank.never_calls = random_() % 8 == 0;
    }
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
    ++crashes_;
    note(rank, "crashes");
  }

  void leave(std::uint32_t rank) {
    ranks_[rank].left = true;
    ranks_[rank].word |= 128;
    note(rank, "leaves");
  }

  /// One thing that may happen on this rank.
  void act(std::uint32_t rank) {
    Rank& self = ranks_[rank];
    if (may_crash(200)) return crash(rank);
    if (!self.machine) return self.never_calls ? (one_in(6) ? leave(rank) : void()) : (one_in(3) ? call(rank) : void());
    if (ended(self)) return one_in(8) ? leave(rank) : void();
    switch (random_() % 4) {
      case 0: return learn(rank, pick());
      case 1: return look(rank, pick());
      case 2: return hear(rank, random_() % 64);
      default: return meet_or_refuse(rank);
    }
  }

  /// All that this rank can do now, in order.
  void be_kind(std::uint32_t rank) {
    Rank& self = ranks_[rank];
    if (!self.machine) return self.never_calls ? leave(rank) : call(rank);
    for (std::uint32_t peer = 0; peer < size(); ++peer) {
      learn(rank, peer);
      look(rank, peer);
      while (!self.looks.empty() && !ended(self)) hear(rank, 0);
    }
    meet_or_refuse(rank);
  }

  void call(std::uint32_t rank) {
    ranks_[rank].machine.emplace(rank, size(), 1);
    publish(rank, "calls shrink()");
  }

  void learn(std::uint32_t rank, std::uint32_t peer) {
    if (!ranks_[peer].alive()) ranks_[rank].knows_gone[peer] = true;
  }

  /// What it learns to be gone it learns before it reads the word.
  void look(std::uint32_t rank, std::uint32_t peer) {
    Rank& self = ranks_[rank];
    if (peer == rank || ended(self)) return;
    self.looks.push_back({peer, ranks_[peer].word, self.knows_gone[peer]});
  }

  void hear(std::uint32_t rank, std::size_t which) {
    Rank& self = ranks_[rank];
    if (self.looks.empty() || ended(self)) return;
    const auto look = self.looks.begin() + static_cast<std::ptrdiff_t>(which % self.looks.size());
    const Look heard = *look;
    self.looks.erase(look);
    self.machine->saw(heard.at, heard.word, heard.gone);
    publish(rank, "hears " + std::to_string(heard.word >> 8) + "/" + std::to_string(heard.word & 255) + " of rank " + std::to_string(heard.at) +
                      (heard.gone ? ", which has gone" : ""));
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
      meetings_[machine.attempt()].insert(rank);
      if (!agreed_.emplace(machine.attempt(), machine.members()).second && agreed_[machine.attempt()] != machine.members())
        wrong_ = "ranks meet in attempt " + std::to_string(machine.attempt()) + " with different members";
      return note(rank, "comes to meeting " + std::to_string(machine.attempt()));
    }
    bool all_came = true, one_lost = false, one_stays_away = false;
    for (const std::uint32_t member : machine.members()) {
      all_came = all_came && meetings_[machine.attempt()].count(member) != 0;
      one_lost = one_lost || !ranks_[member].alive() || ranks_[member].refused;
      one_stays_away = one_stays_away || machine.stays_away(member);
    }
    if (all_came && (!one_lost || one_in(2))) {
      self.met = machine.attempt();
      machine.met();
      publish(rank, "has met all");
      if (may_crash(3)) crash(rank);  // while others may be at the meeting still
      return;
    }
    if ((all_came && one_lost) || one_stays_away) {
      machine.lost();
      publish(rank, "misses somebody");
    }
  }

  void publish(std::uint32_t rank, const std::string& what) {
    Rank& self = ranks_[rank];
    note(rank, what);
    if (self.machine->word() < self.word) wrong_ = "rank " + std::to_string(rank) + " takes back what it said";
    self.word = self.machine->word();
    self.went_on = self.went_on || self.machine->state() == State::going_on;
    self.gave_up = self.gave_up || self.machine->state() == State::given_up;
  }

  static bool ended(const Rank& rank) { return rank.went_on || rank.gave_up; }
  bool all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.alive() || ended(rank); });
  }

  /// What must be true of every run.
  void judge() {
    const Rank* first = nullptr;
    bool refused = false;
    for (const Rank& rank : ranks_) refused = refused || rank.refused;
    for (std::uint32_t k = 0; k < size() && wrong_.empty(); ++k) {
      const Rank& rank = ranks_[k];
      const std::string who = "rank " + std::to_string(k);
      if (rank.gave_up && !refused) wrong_ = who + " gave up, and nobody had refused";
      if (!rank.went_on) continue;
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
      if (ranks_[k].gave_up) wrong_ = who + " gave up, and another went on";
      if (ranks_[k].went_on && !is_member) wrong_ = who + " goes on and is no member";
      if (ranks_[k].alive() && !is_member) wrong_ = who + " lives and was left behind";
      if (is_member && ranks_[k].met != first->machine->attempt()) wrong_ = who + " has not met the others, who go on with it";
      if (!ranks_[k].machine && is_member) wrong_ = who + " never called, and is a member";
    }
  }

  std::mt19937_64 random_;
  std::string* log_;
  std::vector<Rank> ranks_;
  int crashes_left_ = 0, crashes_ = 0;
  bool may_refuse_ = false;
  std::map<std::uint64_t, std::set<std::uint32_t>> meetings_;          // by attempt: who came
  std::map<std::uint64_t, std::vector<std::uint32_t>> agreed_;         // by attempt: the members that those who came think there are
  std::string wrong_;
};

}  // namespace

std::string simulate(std::uint64_t seed, std::string* log) { return World(seed, log).run(); }

}  // namespace survivors_test
