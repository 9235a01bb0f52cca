#include "communicator/word_links.hpp"

#include <algorithm>
#include <cstring>

#include "communicator/status_links.hpp"
#include "communicator/survivors.hpp"

namespace rondo {

WordLinks::WordLinks(const Context& context, Transport& transport, std::uint64_t board)
    : context_(context), transport_(transport), rank_(context.rank()), size_(context.size()), board_(board), known_(rank_, size_), invitations_(size_),
      untold_(size_) {}

void WordLinks::say(std::uint64_t word) {
  known_.say(word);
  tell();
}

void WordLinks::invite(std::uint64_t attempt, const std::string& id) {
  invitations_[rank_] = {attempt, id};
  std::fill(untold_.begin(), untold_.end(), true);
  tell();
}

std::string WordLinks::invitation(std::uint32_t rank, std::uint64_t attempt) const {
  return invitations_[rank].attempt == attempt ? invitations_[rank].id : std::string();
}

bool WordLinks::has_told_all() const {
  for (std::uint32_t peer = 0; peer < size_; ++peer)
    if (untold_[peer] && !known_.has_gone(peer)) return false;
  return true;
}

void WordLinks::turn(const std::vector<bool>& gone) {
  for (std::uint32_t peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    if (shares_memory_with(peer)) read_board(peer);
    else take_messages(peer);
    if (gone[peer]) known_.lost(peer);
  }
  tell();
  transport_.progress();
}

/// Its own word first: what is read then is what it knew when it said that, or more. Who has gone next: the words are those that it had heard from these
/// when it counted them as gone, or later ones.
void WordLinks::read_board(std::uint32_t rank) {
  std::vector<std::uint64_t> told(size_);
  const std::uint64_t own = context_.sleep_line(rank).survivors.load(std::memory_order_acquire);  // pairs with write_board() and leave_survivors()
  if (SurvivorWord::of(own).attempt != 0) {  // else there is no board yet
    Board& board = board_of(rank);
    // pairs with write_board()
    for (std::uint32_t each = 0; each < size_; ++each) told[each] = board.word(each).load(std::memory_order_acquire) & Hearsay::gone_bit;
    for (std::uint32_t each = 0; each < size_; ++each) told[each] |= board.word(each).load(std::memory_order_acquire) & ~Hearsay::gone_bit;
    read_invitation(rank);
  }
  told[rank] = own & ~Hearsay::gone_bit;
  known_.heard(rank, told);
}

void WordLinks::read_invitation(std::uint32_t rank) {
  Board& board = board_of(rank);
  const std::uint64_t attempt = board.attempt.load(std::memory_order_acquire);  // pairs with write_invitation()
  if (attempt <= invitations_[rank].attempt) return;
  std::uint64_t text[Board::text_words];
  for (std::size_t i = 0; i < Board::text_words; ++i) text[i] = board.text[i].load(std::memory_order_acquire);
  if (board.begun.load(std::memory_order_relaxed) != attempt) return;  // the next one is being written
  const char* const begin = reinterpret_cast<const char*>(text);
  invitations_[rank] = {attempt, std::string(begin, strnlen(begin, sizeof text))};
}

void WordLinks::write_board() {
  Board& board = board_of(rank_);
  write_invitation();
  // pairs with read_board(): that more ranks have gone is to be seen after all words
  for (std::uint32_t each = 0; each < size_; ++each) {
    const std::uint64_t gone = board.word(each).load(std::memory_order_relaxed) & Hearsay::gone_bit;
    board.word(each).store(gone | known_.word(each), std::memory_order_release);
  }
  for (std::uint32_t each = 0; each < size_; ++each) board.word(each).store(known_.table()[each], std::memory_order_release);
}

void WordLinks::write_invitation() {
  Board& board = board_of(rank_);
  const auto& [attempt, id] = invitations_[rank_];
  if (board.attempt.load(std::memory_order_relaxed) == attempt) return;
  std::uint64_t text[Board::text_words] = {};
  std::memcpy(text, id.data(), std::min(id.size(), sizeof text - 1));
  // pairs with read_invitation(): whoever sees a word of this text sees that it was begun
  board.begun.store(attempt, std::memory_order_relaxed);
  for (std::size_t i = 0; i < Board::text_words; ++i) board.text[i].store(text[i], std::memory_order_release);
  board.attempt.store(attempt, std::memory_order_release);
}

void WordLinks::take_messages(std::uint32_t rank) {
  for (;;) {
    const Message message = transport_.receive_slot(rank, words_channel);
    if (message.payload == nullptr) return;
    std::vector<std::uint64_t> told(size_);
    const std::size_t bytes = told.size() * sizeof told[0];
    if (message.bytes >= bytes) {
      std::memcpy(told.data(), message.payload, bytes);
      known_.heard(rank, told);
      if (message.header[0] > invitations_[rank].attempt)
        invitations_[rank] = {message.header[0], std::string(reinterpret_cast<const char*>(message.payload) + bytes, message.bytes - bytes)};
    }
    transport_.release(rank, words_channel);
  }
}

/// What is new goes to everybody; who has no slot free for it gets it, or what is newer, later.
void WordLinks::tell() {
  if (known_.take_news()) std::fill(untold_.begin(), untold_.end(), true);
  if (untold_[rank_]) {
    if (shares_memory_with(rank_)) write_board();
    context_.sleep_line(rank_).survivors.store(known_.word(rank_), std::memory_order_release);  // pairs with read_board()
  }
  for (std::uint32_t peer = 0; peer < size_; ++peer) untold_[peer] = untold_[peer] && peer != rank_ && !shares_memory_with(peer);
  const auto& [attempt, id] = invitations_[rank_];
  const std::size_t bytes = size_ * sizeof(std::uint64_t);
  for (std::uint32_t peer = 0; peer < size_; ++peer) {
    if (!untold_[peer] || transport_.gone(peer)) continue;
    const Message message = transport_.send_slot(peer, words_channel, bytes + id.size());
    if (message.payload == nullptr) continue;
    std::memset(message.header, 0, Message::header_words * sizeof message.header[0]);
    message.header[0] = attempt;
    std::memcpy(message.payload, known_.table().data(), bytes);
    std::memcpy(message.payload + bytes, id.data(), id.size());
    transport_.post(peer, words_channel);
    untold_[peer] = false;
  }
}

}  // namespace rondo
