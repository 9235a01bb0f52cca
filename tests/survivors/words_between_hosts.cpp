#include <deque>
#include <vector>

#include "communicator/hearsay.hpp"
#include "words.hpp"

namespace survivors_test {
namespace {

using rondo::Hearsay;
using Table = std::vector<std::uint64_t>;

struct RankOfHost {
  RankOfHost(std::uint32_t number, std::uint32_t ranks) : known(number, ranks), inbox(ranks), begun(ranks) {}

  Hearsay known;
  std::uint32_t host = 0;
  bool crashed = false, left = false;
  std::vector<std::deque<Table>> inbox;  // by sender
  std::vector<Table> begun;              // by neighbour: a look at its table that saw who has gone there, and not yet the words
};

class WordsBetweenHosts final : public Words {
 public:
  WordsBetweenHosts(std::uint32_t ranks, Random& random) : random_(random), torn_(ranks, std::vector<bool>(ranks)) {
    const std::uint32_t hosts = 2 + static_cast<std::uint32_t>(random_() % ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      ranks_.emplace_back(rank, ranks);
      ranks_.back().host = static_cast<std::uint32_t>(random_() % hosts);
    }
    tears_left_ = random_() % 3 == 0 ? 1 + random_() % 2 : 0;
  }

  void publish(std::uint32_t rank, std::uint64_t word) override {
    ranks_[rank].known.say(word);
    tell_news(rank);
  }

  /// What it had sent comes in up to some message, for each of the others another one.
  void crash(std::uint32_t rank) override {
    ranks_[rank].crashed = true;
    for (RankOfHost& peer : ranks_) lose_some(peer.inbox[rank]);
  }

  void leave(std::uint32_t rank) override {
    const bool said_so = ranks_[rank].known.given_up_by().has_value() || random_() % 2 == 0;
    if (said_so) publish(rank, ranks_[rank].known.word(rank) | 128);
    ranks_[rank].left = true;
  }

  bool knows_gone(std::uint32_t rank, std::uint32_t peer) const override { return ranks_[rank].known.has_gone(peer); }
  bool is_given_up(std::uint32_t rank) const override { return ranks_[rank].known.given_up_by().has_value(); }
  bool is_torn() const override { return is_torn_; }

  std::string step(std::uint32_t rank, rondo::Survivors& machine) override {
    const auto peer = static_cast<std::uint32_t>(random_() % ranks_.size());
    if (peer == rank) return "";
    if (tears_left_ != 0 && random_() % 200 == 0 && !shares_host(rank, peer)) return tear(rank, peer);
    if (random_() % 4 == 0 && shares_host(rank, peer)) return begin_look(rank, peer), "";
    const std::string heard = hear(rank, peer);
    inform(rank, machine);
    return heard;
  }

  void catch_up(std::uint32_t rank, rondo::Survivors& machine) override {
    for (std::uint32_t peer = 0; peer < ranks_.size(); ++peer) {
      if (peer == rank) continue;
      while (!hear(rank, peer).empty() && !shares_host(rank, peer)) {
      }
    }
    inform(rank, machine);
  }

 private:
  bool shares_host(std::uint32_t one, std::uint32_t other) const { return ranks_[one].host == ranks_[other].host; }
  bool is_gone(std::uint32_t rank) const { return ranks_[rank].crashed || ranks_[rank].left; }

  void lose_some(std::deque<Table>& messages) { messages.resize(messages.empty() ? 0 : random_() % (messages.size() + 1)); }

  void tell_news(std::uint32_t rank) {
    if (!ranks_[rank].known.take_news()) return;
    for (std::uint32_t peer = 0; peer < ranks_.size(); ++peer)
      if (peer != rank && !shares_host(rank, peer) && !torn_[rank][peer]) ranks_[peer].inbox[rank].push_back(ranks_[rank].known.table());
  }

  std::string tear(std::uint32_t one, std::uint32_t other) {
    --tears_left_;
    is_torn_ = true;
    torn_[one][other] = torn_[other][one] = true;
    lose_some(ranks_[one].inbox[other]);
    lose_some(ranks_[other].inbox[one]);
    return "can't reach rank " + std::to_string(other) + " any more";
  }

  void begin_look(std::uint32_t rank, std::uint32_t peer) { ranks_[rank].begun[peer] = ranks_[peer].known.table(); }

  /// The next that there is from this peer, and that it has gone once there is no more.
  std::string hear(std::uint32_t rank, std::uint32_t peer) {
    RankOfHost& self = ranks_[rank];
    const std::uint64_t before = self.known.word(peer);
    const bool gone = is_gone(peer) || torn_[rank][peer];
    if (shares_host(rank, peer)) {
      Table& seen = self.begun[peer];
      if (seen.empty() || gone) begin_look(rank, peer);
      for (std::uint32_t each = 0; each < ranks_.size(); ++each) seen[each] = (seen[each] & Hearsay::gone_bit) | ranks_[peer].known.word(each);
      self.known.heard(peer, seen);
      seen.clear();
      if (gone) self.known.lost(peer);
    } else if (!self.inbox[peer].empty()) {
      self.known.heard(peer, self.inbox[peer].front());
      self.inbox[peer].pop_front();
    } else if (gone) {
      self.known.lost(peer);
      return "";
    } else {
      return "";
    }
    const std::uint64_t word = self.known.word(peer);
    const std::string said = word == before ? "" : ", whose word is " + std::to_string(word >> 8) + "/" + std::to_string(word & 255);
    return "hears rank " + std::to_string(peer) + said;
  }

  void inform(std::uint32_t rank, rondo::Survivors& machine) {
    tell_news(rank);
    for (std::uint32_t peer = 0; peer < ranks_.size(); ++peer) machine.saw(peer, ranks_[rank].known.word(peer), ranks_[rank].known.is_last(peer));
  }

  Random& random_;
  std::vector<RankOfHost> ranks_;
  std::vector<std::vector<bool>> torn_;
  std::uint64_t tears_left_ = 0;
  bool is_torn_ = false;
};

}  // namespace

std::unique_ptr<Words> words_between_hosts(std::uint32_t ranks, Random& random) { return std::make_unique<WordsBetweenHosts>(ranks, random); }

}  // namespace survivors_test
