#include "communicator/hearsay.hpp"

#include <algorithm>
#include <utility>

#include "communicator/survivors.hpp"

namespace rondo {
namespace {

/// Whoever has said this tells nothing more in this attempt.
bool is_silent(std::uint64_t word, std::uint64_t own) {
  const SurvivorWord said = SurvivorWord::of(word);
  return said.ended && said.attempt >= SurvivorWord::of(own).attempt;
}

}  // namespace

Hearsay::Hearsay(std::uint32_t rank, std::uint32_t size) : rank_(rank), table_(size), told_gone_(size) {}

void Hearsay::say(std::uint64_t word) { learn(rank_, word); }

bool Hearsay::take_news() { return std::exchange(has_news_, false); }

void Hearsay::learn(std::uint32_t peer, std::uint64_t said) {
  if (said <= word(peer)) return;
  has_news_ = has_news_ || peer == rank_;
  table_[peer] = (table_[peer] & gone_bit) | said;
  if (peer != rank_ && SurvivorWord::of(said).left) count_as_gone(peer);  // it says no more
}

void Hearsay::heard(std::uint32_t peer, const std::vector<std::uint64_t>& told) {
  if (peer == rank_ || has_gone(peer) || told.size() != table_.size()) return;
  std::uint32_t gone = 0;
  for (std::uint32_t rank = 0; rank < told.size(); ++rank) {
    if (rank == rank_) {
      if ((told[rank] & gone_bit) != 0) given_up_by_ = peer;
      continue;
    }
    learn(rank, told[rank] & ~gone_bit);
    if ((told[rank] & gone_bit) == 0) continue;
    ++gone;
    count_as_gone(rank);
  }
  told_gone_[peer] = std::max(told_gone_[peer], gone);
}

void Hearsay::lost(std::uint32_t peer) {
  if (peer != rank_) count_as_gone(peer);
}

void Hearsay::count_as_gone(std::uint32_t peer) {
  if (has_gone(peer)) return;
  table_[peer] |= gone_bit;
  has_news_ = true;
  ++gone_;
}

bool Hearsay::is_last(std::uint32_t peer) const {
  if (!has_gone(peer)) return false;
  for (std::uint32_t rank = 0; rank < table_.size(); ++rank)
    if (rank != rank_ && !has_gone(rank) && !is_silent(table_[rank], table_[rank_]) && told_gone_[rank] != gone_) return false;
  return true;
}

}  // namespace rondo
