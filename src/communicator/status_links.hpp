// What ranks tell one another about themselves over message links, where nobody can look into a peer's words.
// Design: docs/design/0006-message-links.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/context.hpp"
#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// A transport's channel numbers, parted by use: plans of the collectives, of pairs towards the higher rank and towards the
/// lower one, notices, what is said in shrink().
inline constexpr std::uint32_t channels_per_use = std::uint32_t{1} << 30;
inline constexpr std::uint32_t upward_channels = channels_per_use;
inline constexpr std::uint32_t downward_channels = channels_per_use * 2;
inline constexpr std::uint32_t notice_channel = channels_per_use * 3;
inline constexpr std::uint32_t words_channel = notice_channel + 1;

/// The last thing a rank said about itself.
struct Notice {
  enum class Kind : std::uint32_t { none, here, waiting, left, failed };
  Kind kind = Kind::none;
  Errc code = Errc::aborted;    ///< failed: what its caller was told
  ToldCall call;                ///< the collective it is in, or was in last
  std::uint64_t finished = 0;   ///< left: the last collective it has finished
  std::string text;             ///< failed: the cause
  std::int64_t heard_ns = 0;
};

/// One rank's notices. Needs the communicator's token. Nothing but meet() ever waits for a peer. Where the transport makes connections as they are needed,
/// a notice makes one only if it has to.
class StatusLinks {
 public:
  /// With those of `size` ranks that are `peers`; the transport has links to these.
  StatusLinks(Transport& transport, std::uint32_t size, std::vector<std::uint32_t> peers);

  /// Where pairs are connected from the beginning: says "here" and waits until all peers have, so that a notice leaves at once from then on.
  /// Errors: peer_failed; deadline_exceeded names the ranks that nothing came from.
  Result<void> meet(std::int64_t deadline_ns);

  const std::vector<std::uint32_t>& peers() const { return peers_; }

  /// By what it says to all peers, or only to those that this rank is connected with: a failure to all, unless a peer has told of one (that one tells the
  /// others); that this rank waits to all where they are few; all else to the connected ones. A peer that doesn't take its notices misses this one; of a
  /// failure this rank helps for 0.1 s that it leaves.
  void tell(const Notice& notice);
  /// That this rank waits in `call`; once a call.
  void tell_waiting(const ToldCall& call);

  /// Takes what has come in. Never waits.
  void take_in();
  const Notice& of(std::uint32_t rank) const { return heard_[rank]; }

 private:
  void post(std::uint32_t peer, const Notice& notice);
  bool is_for_all(Notice::Kind kind) const;
  void take_from(std::uint32_t peer);
  bool idle();
  std::string missing() const;

  Transport& transport_;
  const std::vector<std::uint32_t> peers_;
  std::vector<Notice> heard_;  ///< by rank
  std::uint64_t told_waiting_ = 0;  ///< the last call that tell_waiting() told of
};

}  // namespace rondo
