/// @defgroup transport Transports
/// The transport contract: how the ranks of one group reach one another. A transport is a folder under transports/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rondo/result.hpp"

namespace rondo {
/// @addtogroup transport
/// @{

/// What peers need to reach a rank: bytes, and descriptors where they are on one machine. Whoever is given an address
/// borrows its descriptors and duplicates those it keeps.
struct Address {
  std::vector<std::byte> bytes;  ///< in the transport's own form
  std::vector<int> descriptors;  ///< likewise; none over a network
};

/// A message in a link's slot. `header` travels with it: the sender's call, so that disagreement is found out.
struct Message {
  static constexpr std::size_t header_words = 7;  ///< length of a header
  std::uint64_t* header = nullptr;                ///< header_words of them
  std::byte* payload = nullptr;                   ///< null: no message
  std::uint64_t bytes = 0;                        ///< of the payload
};

/// One rank's end of a transport over a group. Not thread-safe, but for what says so.
/// Mapped transports give load/store access to peers' segments; message transports give FIFO links.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;  ///< as CommunicatorOptions::transport takes it

  /// Set-up's first half: what the peers need to reach this rank.
  virtual Result<Address> address() = 0;
  /// Set-up's second half: all addresses, by rank. Waits until `deadline_ns` (monotonic). A pair that can't be served is found
  /// out here: unsupported, with the reason; or, where pairs connect when they first need to, later by refusal().
  virtual Result<void> connect(const std::vector<Address>& all, std::int64_t deadline_ns) = 0;

  /// Mapped: the segment of rank `rank` (zeroed at the start). Message transports return null.
  virtual std::byte* segment(std::uint32_t /*rank*/) { return nullptr; }
  virtual std::uint64_t segment_bytes() const { return 0; }  ///< mapped: the size of each segment; message transports: 0

  /// Mapped: makes [offset, offset + bytes) of the own segment real memory, or says why it can't. Thread-safe.
  virtual Result<void> commit(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) { return {}; }
  /// Mapped: gives that memory back; committed again it reads as zero. Thread-safe, as commit() is.
  virtual void give_back(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}

  /// Message: a free slot of at least `bytes` towards `peer`, payload null while `depth` messages are under way.
  /// Where pairs are connected() from the beginning, a message each way completes that: so creation sends one. Only from then on its ranks survive one another.
  virtual Message send_slot(std::uint32_t /*peer*/, std::uint32_t /*channel*/, std::uint64_t /*bytes*/) { return {}; }
  /// Message: sends the slot that send_slot() gave.
  virtual void post(std::uint32_t /*peer*/, std::uint32_t /*channel*/) {}
  /// Message: the oldest message from `peer` not yet released (payload null while none is there).
  virtual Message receive_slot(std::uint32_t /*peer*/, std::uint32_t /*channel*/) { return {}; }
  /// Message: frees the slot that receive_slot() gave.
  virtual void release(std::uint32_t /*peer*/, std::uint32_t /*channel*/) {}
  /// Message: moves things along. Mapped links need no help.
  virtual void progress() {}
  /// Message: whether all that was posted on this link has left this rank. Until then the peer may need its progress().
  virtual bool idle(std::uint32_t /*peer*/, std::uint32_t /*channel*/) { return true; }

  /// Message: whether there is a connection with this peer, or one under way. The first message that either sends the other makes one.
  virtual bool connected(std::uint32_t /*peer*/) const { return true; }
  /// Message: makes a connection with this peer where there is none, without a message.
  virtual void call(std::uint32_t /*peer*/) {}
  /// Message: why no connection could be made with this peer, which is gone() then; peer_failed where nobody was there any more.
  virtual std::optional<Error> refusal(std::uint32_t /*peer*/) const { return std::nullopt; }

  /// Message: this rank waits for nobody any more. Who has called by now is connected(), and can be told so; whoever calls from now on is refused.
  virtual void leave() {}

  /// Whether this rank is known to have gone, by death or by leaving. Thread-safe, one load.
  virtual bool gone(std::uint32_t rank) const = 0;
};

/// @}
}  // namespace rondo
