// Words that outlive their writers where not everybody can look at them: each rank passes on all that it has heard, and so those that are left come to know
// all that any of them heard from one that has gone. Touches nothing; its events come from messages. Design: docs/design/0015-shrink.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// What one rank knows of all words (survivors.hpp), and of who knows what.
class Hearsay {
 public:
  /// In a told word: its rank has gone. Attempts never get there.
  static constexpr std::uint64_t gone_bit = std::uint64_t{1} << 63;

  Hearsay(std::uint32_t rank, std::uint32_t size);

  /// Publishes the own word, which only goes on.
  void say(std::uint64_t word);
  /// A peer tells its table. Whoever counts as gone isn't listened to.
  void heard(std::uint32_t peer, const std::vector<std::uint64_t>& told);
  /// All that can come from this peer has been heard.
  void lost(std::uint32_t peer);

  /// What this rank tells: a word for each rank, with gone_bit where that has gone.
  const std::vector<std::uint64_t>& table() const { return table_; }
  /// Whether it is to be told to all others now: the own word has changed, or another rank counts as gone. What others have heard they tell themselves, or
  /// they go, and then this rank tells what it heard from them.
  bool take_news();

  std::uint64_t word(std::uint32_t peer) const { return table_[peer] & ~gone_bit; }
  /// Whether this rank counts it as gone.
  bool has_gone(std::uint32_t peer) const { return (table_[peer] & gone_bit) != 0; }
  /// Whether no rank that is left will ever know a later word of this one: it has gone, and all have said that they count the same ranks as gone as this
  /// rank does, and listen to none of them.
  bool is_last(std::uint32_t peer) const;
  /// A peer that counts this rank as gone: the others go on without it.
  std::optional<std::uint32_t> given_up_by() const { return given_up_by_; }

 private:
  void learn(std::uint32_t peer, std::uint64_t word);
  void count_as_gone(std::uint32_t peer);

  std::uint32_t rank_;
  std::vector<std::uint64_t> table_;
  bool has_news_ = false;
  std::uint32_t gone_ = 0;                ///< how many in the table
  std::vector<std::uint32_t> told_gone_;  ///< by rank: how many it told of. All of them are in the table: equal numbers are equal ranks
  std::optional<std::uint32_t> given_up_by_;
};

}  // namespace rondo
