// Which steps come before which: every lane carries a clock that says how many steps of other lanes it knows to be
// done.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "verifier/image.hpp"

namespace rondo::verifier {

/// For each lane, the whole lanes that it may be asked about (ascending, without itself). Empty at the top: so many meet that lists would save nothing.
using Neighbours = std::vector<std::vector<std::uint32_t>>;

/// What a lane learns when it waits for a step of another one. "Known" is always right; "not known" is, for sure, with `all` alone.
enum class Learning : std::uint8_t {
  first_hand,  ///< that the step is done, and all before it in its lane
  neighbours,  ///< and what that lane knew then of lanes that are neighbours of both
  all,         ///< and whatever that lane knew, at a cost of a word for each whole lane
};

/// Clocks over one run.
class Clocks {
 public:
  /// `neighbours` are looked at where learning is theirs.
  Clocks(const Image& image, Learning learning, const Neighbours& neighbours, std::uint32_t pieces);

  /// Before a step's accesses: the lane learns what the step waits for.
  void enter(std::uint32_t lane, std::uint32_t step, std::uint32_t piece);
  /// After them: others may learn from it.
  void leave(std::uint32_t lane, std::uint32_t step, std::uint32_t piece);

  /// What the lane has entered last (Image::event).
  std::uint32_t event(std::uint32_t lane) const { return events_[lane]; }
  /// Whether `lane` knows that the whole lane `other` is done with `event`.
  bool knows(std::uint32_t lane, std::uint32_t other, std::uint32_t event) const {
    return lane == other || known(lane, other) >= event;
  }
  /// More memory was needed than the verifier takes; answers are worthless then.
  bool overflowed() const { return overflowed_; }

 private:
  struct Snapshot {
    std::uint32_t lane = 0;
    std::uint32_t event = 0;
    std::size_t block = 0;
    std::uint32_t readers = 0;
  };

  template <typename Take>
  void each_wait(const Take& take) const;
  void publish_targets();
  std::uint32_t known(std::uint32_t lane, std::uint32_t other) const;
  std::size_t width(std::uint32_t lane) const { return dense_ ? whole_lanes_ : neighbours_[lane].size(); }
  std::uint32_t snapshot(std::uint32_t lane, std::uint32_t readers);
  void join(std::uint32_t lane, std::uint32_t snapshot, std::uint32_t shift);
  void join_dense(std::uint32_t lane, const Snapshot& from, std::uint32_t shift);
  void join_sparse(std::uint32_t lane, const Snapshot& from);
  void join_shifted(std::uint32_t lane, const Snapshot& from, std::uint32_t shift);
  std::size_t new_block(std::uint32_t lane);
  void release_block(std::uint32_t lane, std::size_t block);
  std::size_t own_block(std::uint32_t lane);
  void exchange(std::uint32_t lane, const FlatStep& step, std::uint32_t piece, bool entering);
  void hear(std::uint32_t lane, std::uint32_t of, std::uint32_t event);
  void hear_what_it_waits_for(std::uint32_t lane, const FlatStep& step, std::uint32_t piece);
  void hear_from_links(std::uint32_t lane, const FlatStep& step, std::uint32_t piece);
  std::uint32_t link_slots(const Link& link) const;
  std::pair<std::uint32_t, std::uint32_t> tenant(const Link& link, std::uint32_t message) const;
  bool next_tenant_exists(const Link& link, std::uint32_t message, std::uint32_t piece) const;

  const Image& image_;
  const Neighbours& neighbours_;
  const Learning learning_;
  const bool dense_;  ///< a word for each whole lane
  const std::size_t whole_lanes_;
  const std::uint32_t pieces_;
  bool overflowed_ = false;
  std::vector<std::uint32_t> events_;
  std::vector<std::size_t> blocks_;  // by lane; words_[block] counts who holds it, the clock follows
  std::vector<std::uint32_t> words_;
  std::vector<std::vector<std::size_t>> free_blocks_;  // by lane; dense: all in the first
  std::vector<Snapshot> snapshots_;
  std::vector<std::uint32_t> free_snapshots_;

  std::vector<std::uint32_t> target_;     // by step: its number among those waited for, or none
  std::vector<std::uint32_t> first_lag_;  // by target
  std::vector<std::uint32_t> lags_;       // of those that wait for a target, ascending
  std::vector<std::uint32_t> published_;  // target × piece → snapshot

  std::vector<std::uint32_t> sent_;  // message of a body × piece → snapshot
  std::vector<std::uint32_t> received_;
};

}  // namespace rondo::verifier
