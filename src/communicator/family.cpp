#include "communicator/family.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/crash_point.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t ledger_bytes = 4096;
constexpr std::size_t ledger_entries = ledger_bytes / sizeof(SharedWord);

}  // namespace

Family::Family(std::unique_ptr<Transport> transport, std::uint32_t rank, std::uint64_t room_offset, std::uint64_t room_bytes, std::uint64_t symmetric_bytes)
    : transport_(std::move(transport)),
      symmetric_(*transport_, rank, room_offset + room_bytes, symmetric_bytes),
      rank_(rank),
      ledger_offset_(room_offset),
      entries_(ledger_entries, false) {
  if (room_bytes > ledger_bytes) free_[room_offset + ledger_bytes] = room_bytes - ledger_bytes;
}

SharedWord& Family::ledger(std::uint32_t rank, std::uint32_t entry) const {
  return reinterpret_cast<SharedWord*>(transport_->segment(rank) + ledger_offset_)[entry];
}

Result<Room> Family::take_room(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  sweep();
  if (!ledger_committed_) {
    if (auto committed = transport_->commit(ledger_offset_, ledger_bytes); !committed) return committed.error();
    ledger_committed_ = true;
  }
  const auto range = std::find_if(free_.begin(), free_.end(), [&](const auto& free) { return free.second >= bytes; });
  const auto entry = std::find(entries_.begin(), entries_.end(), false);
  if (range == free_.end() || entry == entries_.end())
    return Error{Errc::out_of_resources, "a rank's segment has no room for one more split communicator: it has those that are in use, and those that " +
                                             std::string("some rank hasn't destroyed yet"), 0, "split"};
  const Room room{range->first, bytes, static_cast<std::uint32_t>(entry - entries_.begin())};
  const std::uint64_t rest = range->second - bytes;
  free_.erase(range);
  if (rest != 0) free_[room.offset + bytes] = rest;
  *entry = true;
  return room;
}

void Family::return_room(const Room& room) {
  const std::lock_guard lock(mutex_);
  free(room);
}

std::uint64_t Family::next_epoch() {
  const std::lock_guard lock(mutex_);
  return epoch_ + 1;
}

void Family::enter(const Room& room, std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  epoch_ = std::max(epoch_, epoch);
  // pairs with vacated() of ranks that wait for an earlier communicator's end and find this one's number: it says the same as 0
  ledger(rank_, room.entry).store(epoch, std::memory_order_release);
}

void Family::leave(const Room& room, std::uint64_t epoch, std::vector<LedgerEntry> peers, std::vector<StagingShare> shares) {
  const std::lock_guard lock(mutex_);
  crash_point("farewell: before the ledger");
  // pairs with vacated() of the peers: all that this rank read and wrote comes before
  ledger(rank_, room.entry).store(0, std::memory_order_release);
  retired_.push_back({room, epoch, std::move(peers), std::move(shares)});
  sweep();
}

void Family::sweep() {
  const auto gone = std::partition(retired_.begin(), retired_.end(), [this](const Retired& retired) { return !vacated(retired); });
  for (auto retired = gone; retired != retired_.end(); ++retired) free(retired->room);
  retired_.erase(gone, retired_.end());
}

/// An entry with another number is a later communicator's: the peer has left this one.
bool Family::vacated(const Retired& retired) const {
  return std::all_of(retired.peers.begin(), retired.peers.end(), [&](const LedgerEntry& peer) {
    return ledger(peer.rank, peer.entry).load(std::memory_order_acquire) != retired.epoch || transport_->gone(peer.rank);
  });
}

void Family::free(const Room& room) {
  entries_[room.entry] = false;
  transport_->give_back(room.offset, room.bytes);
  auto [at, fresh] = free_.emplace(room.offset, room.bytes);
  if (const auto above = std::next(at); above != free_.end() && at->first + at->second == above->first) {
    at->second += above->second;
    free_.erase(above);
  }
  if (at == free_.begin()) return;
  if (const auto below = std::prev(at); below->first + below->second == at->first) {
    below->second += at->second;
    free_.erase(at);
  }
}

}  // namespace rondo
