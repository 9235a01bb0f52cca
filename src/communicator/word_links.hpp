// What ranks that don't all share memory say in shrink(): tables (hearsay.hpp) in messages to other hosts, and on a board in memory for this one.
// Design: docs/design/0015-shrink.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/board.hpp"
#include "communicator/hearsay.hpp"
#include "executor/context.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// One rank's end. Needs the communicator's token; nothing waits.
class WordLinks {
 public:
  /// `board`: where in its segment each rank has its board, if it has one; this rank's is memory by now.
  WordLinks(const Context& context, Transport& transport, std::uint64_t board);

  const Hearsay& known() const { return known_; }

  /// The own word, which only goes on: every other rank gets to know it, or of this rank's end.
  void say(std::uint64_t word);
  /// Where those that go on meet in this attempt, by an id; no_unique_id where this rank can't say.
  void invite(std::uint64_t attempt, const std::string& id);
  /// What a rank said of where to meet in that attempt; "": nothing yet.
  std::string invitation(std::uint32_t rank, std::uint64_t attempt) const;

  /// Whether all that this rank said is on its way to all that aren't known to have gone.
  bool has_told_all() const;

  /// Takes what has come and tells what is new. `gone`: by rank, whether it had gone before this turn.
  void turn(const std::vector<bool>& gone);

 private:
  struct Invitation {
    std::uint64_t attempt = 0;
    std::string id;
  };

  Board& board_of(std::uint32_t rank) const { return *reinterpret_cast<Board*>(transport_.segment(rank) + board_); }
  bool shares_memory_with(std::uint32_t rank) const { return transport_.segment(rank) != nullptr; }
  void read_board(std::uint32_t rank);
  void read_invitation(std::uint32_t rank);
  void write_board();
  void write_invitation();
  void take_messages(std::uint32_t rank);
  void tell();

  const Context& context_;
  Transport& transport_;
  const std::uint32_t rank_;
  const std::uint32_t size_;
  const std::uint64_t board_;
  Hearsay known_;
  std::vector<Invitation> invitations_;  ///< by rank
  std::vector<bool> untold_;             ///< by rank: links that don't have the last news yet
};

}  // namespace rondo
