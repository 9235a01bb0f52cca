// A rank's part in the rounds of a bootstrap: what it says to whom, and when a round is over or comes to nothing. Pure: neither sockets nor a clock, so
// that jobs of thousands of ranks are simulated (tests/rounds). Design: docs/design/0022-rounds-of-a-bootstrap.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/tree.hpp"
#include "rondo/result.hpp"

namespace rondo {

/// What passes between two ranks. Its number is what stands in a frame.
struct Letter {
  enum class Kind : std::uint32_t {
    verdict,         ///< why there will be no round any more; not among take_letters()
    gift,            ///< to the parent: what the ranks gave that the sender speaks for
    all,             ///< to a child: what all gave
    who_is_missing,  ///< from rank 0, when its time is over
    missing,         ///< the answer: the children that have given nothing
  };
  std::uint32_t to = 0;
  Kind kind = Kind::gift;
  std::vector<std::uint32_t> ranks{};  ///< of the answer
};

class Rounds {
 public:
  enum class State {
    outside,    ///< of a round
    gathering,  ///< children haven't all given
    waiting,    ///< for what all gave
    spreading,  ///< has it; children don't yet
    failed,     ///< for good
  };

  /// Which process a rank is, for errors; empty: that isn't known here.
  using Whom = std::function<std::string(std::uint32_t)>;

  Rounds(TreePlace place, Whom whom) : whom_(std::move(whom)), spoke_(place.size) { branch(std::move(place)); }

  const TreePlace& place() const { return place_; }
  State state() const { return state_; }
  /// Why there will be no further round.
  const Error& error() const { return *error_; }
  /// When it has failed: what everybody is to be told whom this rank has a line to, before they find it gone and take it for the cause.
  const Error& verdict() const { return *verdict_; }

  /// The letters to be sent next, in order. What goes with a gift or with what all gave isn't this machine's business.
  std::vector<Letter> take_letters() { return std::exchange(letters_, {}); }
  /// When pass_time() is due, while in a round.
  std::int64_t next_ns() const;

  /// Another place from the next round on, for all ranks alike. Outside of rounds.
  void branch(TreePlace place);
  /// Outside of rounds this rank waits for these, and says so where it is asked who is missing. Until the next round.
  void await(std::vector<std::uint32_t> ranks) { awaited_ = std::move(ranks); }
  /// This rank gives.
  void enter(std::int64_t deadline_ns);
  /// A letter came. What is no letter from there is an error of the sender's.
  void hear(std::uint32_t from, Letter::Kind kind, const std::vector<std::uint32_t>& ranks = {});
  void hear_verdict(const Error& verdict);
  /// All letters to that rank have left.
  void sent(std::uint32_t rank);
  /// A connection has ended by `cause`.
  void lose(std::uint32_t peer, const Error& cause);
  void pass_time(std::int64_t now_ns);
  /// This rank can't go on, by `error` unless it has heard why before.
  void give_up(const Error& error);

 private:
  bool in_round() const { return state_ == State::gathering || state_ == State::waiting || state_ == State::spreading; }
  bool is_root() const { return place_.rank == 0; }
  std::vector<std::uint32_t> children_with(const std::vector<bool>& flags, bool flag) const;
  std::vector<std::uint32_t> missing_children() const { return children_with(given_, false); }
  std::vector<std::uint32_t> missing_here() const;
  void go_on();
  void spread();
  void end_spreading();
  void fail(const Error& own);
  void fail(const Error& own, const Error& verdict);
  std::string name(std::uint32_t rank) const;
  Error missing() const;
  Error late(const std::vector<std::uint32_t>& ranks) const;

  TreePlace place_;
  Whom whom_;
  State state_ = State::outside;
  std::vector<bool> given_;   ///< by child: its gift of this round is here
  std::vector<bool> unsent_;  ///< by child: what all gave is on its way there
  std::vector<Letter> letters_;
  std::vector<std::uint32_t> awaited_;
  std::int64_t deadline_ns_ = 0;
  bool asked_ = false;        ///< root: who is missing
  std::vector<bool> spoke_;   ///< root: by rank, it has answered
  std::vector<std::uint32_t> reported_;
  std::optional<Error> error_;
  std::optional<Error> verdict_;
};

/// How long rank 0 waits for the answers: longer than a rank that lives is usually kept from its processor.
inline constexpr std::int64_t asking_ns = 250'000'000;
/// By so much the others wait longer than rank 0, times their depth: who stands above them knows better what is missing.
inline constexpr std::int64_t verdict_grace_ns = 400'000'000;

}  // namespace rondo
