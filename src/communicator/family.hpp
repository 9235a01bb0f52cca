// What the communicators of one rank that were split from one another have in common: one transport, and the room in its segment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator/staging_budget.hpp"
#include "communicator/symmetric_room.hpp"
#include "executor/slot_layout.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// What a split communicator has of its rank's segment. The ledger says to the other members whether this rank is still in it.
struct Room {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t entry = 0;   ///< in the ledger
};

/// Where the ledger of a member says that it is still in the communicator.
struct LedgerEntry {
  std::uint32_t rank = 0;    ///< in the transport
  std::uint32_t entry = 0;
};

/// Thread-safe: split communicators may be used by different threads. Over message links there is no room and nobody asks for it.
class Family {
 public:
  /// `room_offset`, `room_bytes`: of the own segment, for communicators that are split off; `symmetric_bytes` behind it, for memory that
  /// programs allocate. Equal on all ranks.
  Family(std::unique_ptr<Transport> transport, std::uint32_t rank, std::uint64_t room_offset, std::uint64_t room_bytes, std::uint64_t symmetric_bytes);

  Transport& transport() { return *transport_; }
  SymmetricRoom& symmetric() { return symmetric_; }

  /// `bytes` of memory that reads as zero once committed, and an entry of the ledger. Error out_of_resources when there isn't so much.
  Result<Room> take_room(std::uint64_t bytes);
  /// Gives it back at once: no peer has touched it.
  void return_room(const Room& room);

  /// A communicator's number: larger than those of all others that this rank is or was in.
  std::uint64_t next_epoch();
  /// The communicator in this room got that number, which isn't less.
  void enter(const Room& room, std::uint64_t epoch);
  /// This rank touches no peer's memory of that communicator any more. Its own is given back when all `peers` have left, too, which a later call
  /// finds out; until then it is counted (`shares`).
  void leave(const Room& room, std::uint64_t epoch, std::vector<LedgerEntry> peers, std::vector<StagingShare> shares);

 private:
  struct Retired {
    Room room;
    std::uint64_t epoch;
    std::vector<LedgerEntry> peers;
    std::vector<StagingShare> shares;
  };

  SharedWord& ledger(std::uint32_t rank, std::uint32_t entry) const;
  void sweep();
  bool vacated(const Retired& retired) const;
  void free(const Room& room);

  const std::unique_ptr<Transport> transport_;
  SymmetricRoom symmetric_;
  const std::uint32_t rank_;
  const std::uint64_t ledger_offset_;
  std::mutex mutex_;
  bool ledger_committed_ = false;
  std::vector<bool> entries_;                    // taken
  std::map<std::uint64_t, std::uint64_t> free_;  // offset → bytes
  std::vector<Retired> retired_;
  std::uint64_t epoch_ = 0;
};

}  // namespace rondo
