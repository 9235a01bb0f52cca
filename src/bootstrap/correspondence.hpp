// The rounds of ranks that have met, over their lines: rounds.hpp with sockets, a clock and what is given.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/line.hpp"
#include "bootstrap/rounds.hpp"

namespace rondo {

/// Not thread-safe.
class Correspondence {
 public:
  /// `peers` by rank: rank 0's lead to all others, another's to rank 0. Rounds go by rank 0 alone until branch(). `descriptors`: whether they pass.
  Correspondence(std::uint32_t rank, std::uint32_t size, std::vector<PeerSocket> peers, bool descriptors);

  /// Every rank gives and gets all, by rank. Blocks and fails as Bootstrap::all_gather.
  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns);
  /// Every rank gives and gets what one other rank gave, `whose(rank)`; or nothing, where that is rank 0. While rounds go by rank 0 alone, without descriptors.
  Result<Address> look_up(const Address& own, const std::function<std::uint32_t(std::uint32_t)>& whose, std::int64_t deadline_ns);

  /// A line to one more rank.
  void add(std::uint32_t peer, PeerSocket socket) { lines_.emplace(peer, Line(std::move(socket))); }
  /// Until the next round this rank waits for these, in another way.
  void await(std::vector<std::uint32_t> ranks) { rounds_.await(std::move(ranks)); }
  /// From the next round on rounds go by this tree; there are lines to the neighbours there. All ranks do so between the same rounds.
  void branch(const TreePlace& place);

  /// Takes in what has come, and answers. Whether there will be no further round.
  bool is_over();
  /// Why, where it is over.
  const Error& error() const { return rounds_.error(); }
  /// This rank can't go on: the others are told. Takes 0.1 s at most. Returns what this rank's error is, which is theirs where they were first.
  Error give_up(const Error& error);

  bool passes_descriptors() const { return descriptors_; }
  const TreePlace& place() const { return rounds_.place(); }
  /// One of the sockets by which this rank met; -1 where it is alone.
  int socket() const { return lines_.empty() ? -1 : lines_.begin()->second.socket(); }
  /// The connections by which this rank met, by rank. The rest ends.
  std::vector<PeerSocket> take_peers();

 private:
  /// How what is given goes from rank to rank.
  enum class Form {
    bundles,  ///< that of many ranks in one piece
    frames,   ///< each rank's in a frame of its own, with its descriptors
    answers,  ///< each rank's to the one that asked for it
  };

  std::string whom(std::uint32_t rank) const;
  std::uint64_t largest(std::uint32_t peer, Letter::Kind kind) const;
  Form own_form() const { return descriptors_ ? Form::frames : Form::bundles; }
  Result<void> run(const Address& own, std::int64_t deadline_ns);
  void post_letters();
  void begin_to_spread();
  void post_all(std::uint32_t to);
  Address own_gift();
  Moved write_lines();
  void wait(std::int64_t until_ns, Moved written, short reads);
  void watch_lines();
  void read_lines();
  void read(std::uint32_t peer, Line& line);
  void hear(std::uint32_t peer, Letter::Kind kind, Gathered content);
  void take_gift(std::uint32_t peer, Gathered content);
  void take_all(std::uint32_t peer, Gathered content);
  void say_farewell();

  bool descriptors_;
  std::map<std::uint32_t, Line> lines_;  ///< by rank
  Rounds rounds_;
  std::vector<pollfd> entries_;
  std::int64_t next_watch_ns_ = 0;
  bool told_ = false;  ///< the others, why it has failed

  // Of the round, or of the next one, which a child may enter before this rank has ended this one.
  std::vector<Gathered> gifts_;  ///< by child, one address each
  // Of the round.
  Form form_;
  const Address* own_ = nullptr;
  const std::function<std::uint32_t(std::uint32_t)>* whose_ = nullptr;
  std::vector<Gathered> spread_;           ///< rank 0's children's gifts, while they are sent on as they came
  std::shared_ptr<const Address> bundle_;  ///< what all gave, in one piece; or the answer
  Gathered all_;                           ///< what all gave, in frames
};

}  // namespace rondo
