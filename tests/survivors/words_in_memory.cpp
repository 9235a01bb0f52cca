#include <vector>

#include "words.hpp"

namespace survivors_test {
namespace {

/// A look that has been taken and not been heard of.
struct Look {
  std::uint32_t at = 0;
  std::uint64_t word = 0;
  bool gone = false;
};

struct RankInMemory {
  std::uint64_t word = 0;
  bool gone = false;
  std::vector<bool> knows_gone;  // by peer
  std::vector<Look> looks;
};

class WordsInMemory final : public Words {
 public:
  WordsInMemory(std::uint32_t ranks, Random& random) : random_(random), ranks_(ranks) {
    for (RankInMemory& rank : ranks_) rank.knows_gone.resize(ranks);
  }

  void publish(std::uint32_t rank, std::uint64_t word) override { ranks_[rank].word = word; }
  void crash(std::uint32_t rank) override { ranks_[rank].gone = true; }
  void leave(std::uint32_t rank) override {
    ranks_[rank].gone = true;
    ranks_[rank].word |= 128;
  }

  bool outlive_crashes() const override { return true; }

  bool knows_gone(std::uint32_t rank, std::uint32_t peer) const override { return ranks_[rank].knows_gone[peer]; }

  std::string step(std::uint32_t rank, rondo::Survivors& machine) override {
    const auto peer = static_cast<std::uint32_t>(random_() % ranks_.size());
    switch (random_() % 3) {
      case 0: return learn(rank, peer), "";
      case 1: return look(rank, peer), "";
      default: return hear(rank, machine, random_() % 64);
    }
  }

  void catch_up(std::uint32_t rank, rondo::Survivors& machine) override {
    for (std::uint32_t peer = 0; peer < ranks_.size(); ++peer) {
      learn(rank, peer);
      look(rank, peer);
      while (!ranks_[rank].looks.empty()) hear(rank, machine, 0);
    }
  }

 private:
  void learn(std::uint32_t rank, std::uint32_t peer) {
    if (ranks_[peer].gone) ranks_[rank].knows_gone[peer] = true;
  }

  /// What it learns to be gone it learns before it reads the word.
  void look(std::uint32_t rank, std::uint32_t peer) {
    if (peer != rank) ranks_[rank].looks.push_back({peer, ranks_[peer].word, ranks_[rank].knows_gone[peer]});
  }

  std::string hear(std::uint32_t rank, rondo::Survivors& machine, std::size_t which) {
    auto& looks = ranks_[rank].looks;
    if (looks.empty()) return "";
    const auto look = looks.begin() + static_cast<std::ptrdiff_t>(which % looks.size());
    const Look heard = *look;
    looks.erase(look);
    machine.saw(heard.at, heard.word, heard.gone);
    return "hears " + std::to_string(heard.word >> 8) + "/" + std::to_string(heard.word & 255) + " of rank " + std::to_string(heard.at) +
           (heard.gone ? ", which has gone" : "");
  }

  Random& random_;
  std::vector<RankInMemory> ranks_;
};

}  // namespace

std::unique_ptr<Words> words_in_memory(std::uint32_t ranks, Random& random) { return std::make_unique<WordsInMemory>(ranks, random); }

}  // namespace survivors_test
