// A context: what one group of ranks needs to run plans one after another. A communicator has one for its collectives and
// one for each direction of each pair that sends and receives.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "executor/call_numbers.hpp"
#include "executor/claims.hpp"
#include "executor/executable.hpp"
#include "executor/slot_layout.hpp"
#include "rondo/transport.hpp"
#include "rondo/types.hpp"

namespace rondo {

/// What a call is, as its record and digest say it to the peers.
struct CallIdentity {
  Collective collective = Collective::barrier;
  DataType type = DataType::u8;
  ReduceOp op = ReduceOp::sum;
  std::uint32_t root = 0;
  std::uint64_t count = 0;
  std::uint64_t plan_hash = 0;
  bool symmetric = false;  ///< peers can read its buffers
  bool in_place = false;   ///< where ranks have to agree on it
  std::optional<DataType> wire = std::nullopt;  ///< what scratch holds, where that is another type

  std::uint64_t what() const {
    return static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(type) << 8 | static_cast<std::uint64_t>(op) << 16 |
           static_cast<std::uint64_t>(symmetric) << 24 | static_cast<std::uint64_t>(in_place) << 25 |
           (wire ? static_cast<std::uint64_t>(*wire) + 1 : 0) << 26;
  }
  std::uint32_t digest() const;
  static std::optional<DataType> wire_of(std::uint64_t number) {
    return number == 0 ? std::nullopt : std::optional(static_cast<DataType>(number - 1));
  }
  static CallIdentity of_words(std::uint64_t count, std::uint64_t plan_hash, std::uint64_t what, std::uint64_t root) {
    return {static_cast<Collective>(what & 0xff), static_cast<DataType>(what >> 8 & 0xff), static_cast<ReduceOp>(what >> 16 & 0xff),
            static_cast<std::uint32_t>(root), count, plan_hash, (what >> 24 & 1) != 0, (what >> 25 & 1) != 0, wire_of(what >> 26 & 0xf)};
  }
};

/// A rank's call as a message tells of it.
struct ToldCall {
  std::uint64_t sequence = 0;  ///< 0: none
  CallIdentity identity;
};

/// Where members' buffers are that peers can read, and the words by which calls tell of them: distances from a member's home, or
/// addresses where all members are threads of one process.
class Homes {
 public:
  /// Nobody's can be read.
  Homes() = default;
  /// Each member's memory of `bytes` as this rank has it mapped. Threads of one process: from address 0 on, all there is.
  Homes(std::vector<std::uintptr_t> begins, std::uint64_t bytes) : begins_(std::move(begins)), bytes_(bytes) {}

  bool none() const { return begins_.empty(); }
  /// Whether the memory is the process's own, which its users may free and unmap.
  bool anywhere() const { return bytes_ == everything; }
  static constexpr std::uint64_t everything = ~std::uint64_t{0};

  std::uint64_t word_of(std::uint32_t member, const std::byte* buffer) const {
    return buffer == nullptr ? no_buffer : reinterpret_cast<std::uintptr_t>(buffer) - begins_[member];
  }
  /// The place of a buffer; null when it doesn't lie in the member's memory, whatever the member wrote.
  std::byte* place_of(std::uint32_t member, std::uint64_t word, std::uint64_t bytes) const {
    return bytes > bytes_ || word > bytes_ - bytes ? nullptr : reinterpret_cast<std::byte*>(begins_[member] + word);
  }

 private:
  std::vector<std::uintptr_t> begins_;
  std::uint64_t bytes_ = 0;
};

class Context {
 public:
  /// `areas[m]` is member m's area in its segment (null where only messages reach it; then `own` must still be memory).
  /// Message links of its plans take the transport's channels from `first_channel` on.
  Context(ContextLayout layout, std::uint32_t rank, std::vector<std::byte*> areas, std::vector<std::uint32_t> members,
          Transport* transport, std::uint32_t first_channel = 0);

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(areas_.size()); }
  std::uint32_t member(std::uint32_t rank) const { return members_[rank]; }  ///< a member's rank in the communicator
  const ContextLayout& layout() const { return layout_; }
  Transport& transport() const { return *transport_; }
  /// Not 0 once a member's user may have its buffers back from calls that failed: of this context's lane 0, or of the communicator's.
  SharedWord& broken(std::uint32_t rank) const { return broken_.empty() ? lane(rank, 0).broken : *broken_[rank]; }
  void take_broken(std::vector<SharedWord*> words) { broken_ = std::move(words); }
  /// Whether a member is known to have died, or left.
  bool gone(std::uint32_t rank) const { return transport_ != nullptr && transport_->gone(members_[rank]); }
  std::uint32_t first_channel() const { return first_channel_; }

  StatusLine& status(std::uint32_t rank) const { return *at<StatusLine>(rank, layout_.status()); }
  DestinationLine& destinations(std::uint32_t rank) const { return *at<DestinationLine>(rank, layout_.destinations()); }
  CallRecord& record(std::uint32_t rank, std::uint64_t parity) const {
    return *at<CallRecord>(rank, layout_.records() + parity * cache_line);
  }
  SharedWord& once(std::uint32_t rank, std::uint64_t parity, std::uint32_t index) const { return at<OnceLines>(rank, layout_.once(parity))->words[index]; }
  LaneLine& lane(std::uint32_t rank, std::uint32_t index) const { return *at<LaneLine>(rank, layout_.lane(index)); }
  InlineLine* inline_lines(std::uint32_t rank, std::uint64_t parity, std::uint32_t first) const {
    return at<InlineLine>(rank, inline_lines_[parity]) + first;
  }
  bool mapped(std::uint32_t rank) const { return areas_[rank] != nullptr; }
  /// Which half of each member's staging a call uses, as base table, whose entries 0 and 1 (input, output) are that call's; after how many calls there the
  /// ring of slots goes on; and where this rank's half is in the next call with such writers, and whether that one is a call later in its ring.
  struct Halves {
    std::byte** bases;
    std::uint64_t earlier;
    std::byte* next_own;
    bool next_goes_on;
  };
  /// Of the call that begins, in which `writer`'s slots alone are written, or those of several_writers, or of no_writer.
  Halves take_halves(std::uint32_t writer) {
    turn(writer, 1);
    // A writer's own calls go on where it last was. Where several write, some may have written alone besides, and in turn with these: all calls count.
    const std::uint64_t calls = writer < size() ? written_together_ + written_alone_[writer] : written_;
    return {bases_[written_together_ & 1].data(), calls >> 1, bases_[~written_together_ & 1][base_staging + rank_], (calls & 1) != 0};
  }
  /// It didn't begin.
  void give_back_halves(std::uint32_t writer) {
    turn(writer, ~std::uint64_t{0});
  }

  SleepLine& sleep_line(std::uint32_t rank) const { return *at<SleepLine>(rank, layout_.sleep()); }
  /// After a signal: wakes the peers that sleep, and says how many threads these were.
  long wake_peers() const {
    long woken = 0;
    for (SleepWord* word : sleepers)
      if (word->load(std::memory_order_relaxed) != 0) [[unlikely]] woken += wake_sleepers(*word);
    return woken;
  }

  Homes homes;
  std::vector<std::int64_t> processes; ///< by member, where the kernel copies from one's memory to another's; else empty
  std::vector<SleepWord*> sleepers;    ///< of the peers that this one's signals may wake

  std::shared_ptr<Claims> claims = std::make_shared<Claims>();  ///< what this rank writes next; contexts that take turns may have one for all
  std::uint64_t call = 0;              ///< the call that runs, or ran last
  std::uint32_t history = 0;           ///< digests of all calls so far, chained: what flags carry
  std::uint64_t entered_by_all = 0;    ///< every peer is known to have entered this call
  std::vector<std::uint64_t> entered;  ///< per peer: the last call it is known to have entered

 private:
  template <class T>
  T* at(std::uint32_t rank, std::uint64_t offset) const {
    return reinterpret_cast<T*>(areas_[rank] + offset);
  }

  /// Whoever may write takes the other half (docs/design/0004-slot-protocol.md, "Halves"), for one call more, or one less.
  void turn(std::uint32_t writer, std::uint64_t one) {
    if (writer == no_writer) return;
    written_ += one;
    if (writer == several_writers) {
      written_together_ += one;
    } else {
      written_alone_[writer] += one;
      std::swap(bases_[0][base_staging + writer], bases_[1][base_staging + writer]);
    }
  }

  ContextLayout layout_;
  std::uint32_t rank_;
  std::vector<std::byte*> areas_;
  std::vector<std::uint32_t> members_;
  std::vector<SharedWord*> broken_;           ///< by member; empty: each lane's own
  std::vector<std::byte*> bases_[2];          ///< all that differs is which half of each member's staging they name; by turns where several write
  std::uint64_t written_ = 0;                 ///< calls in which slots were
  std::uint64_t written_together_ = 0;        ///< those of several ranks
  std::vector<std::uint64_t> written_alone_;  ///< by rank: its slots alone
  std::uint64_t inline_lines_[2];  ///< where they begin in an area, by parity
  Transport* transport_;
  std::uint32_t first_channel_;
};

}  // namespace rondo
