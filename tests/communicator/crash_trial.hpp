// Three ranks live a whole life, one of them is killed in it, and the two others are held to what a death must be to them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "rondo/topology.hpp"
#include "support/death.hpp"
#include "support/moment.hpp"
#include "support/sanitized.hpp"

namespace crash {

inline constexpr std::uint32_t ranks = 3;
/// What a life moves at once, at the least and at the most.
inline constexpr std::uint64_t small_bytes = 8, large_bytes = (sanitized ? 2u : 64u) << 20;

/// The parts of a life, in their order.
enum Part : int { creation = 1, calls, splitting, messages, farewell, parts_end };
const char* name_of(int part);

/// What lives have in common: what they move, and where. Made once, since making and filling it takes longer than most lives.
class Stage {
 public:
  explicit Stage(std::uint64_t bytes);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t count() const;
  /// Element i is (rank + 1) · (i % 16).
  const float* input(std::uint32_t rank) const { return inputs_[rank]; }
  float* output(std::uint32_t rank) const { return outputs_[rank]; }
  const rondo::Topology& view() const { return view_; }

 private:
  std::uint64_t bytes_;
  rondo::Topology view_;
  float* inputs_[ranks];
  float* outputs_[ranks];
};

/// What survivors of many kills met, all of them together.
struct Tally {
  std::atomic<std::uint64_t> kills = 0, lives = 0, errors = 0, unheard = 0, ends = 0;
  std::atomic<std::int64_t> worst_ns = 0;
  std::uint64_t longest = 0;  ///< the steps of the longest life that was lived to its end
};
std::string describe(const Tally& tally);

struct CrashTrial;
/// A victim's whole process: it makes `live(trial, job, ...)` die at that moment and notes in `followed` what it saw. "", or what went wrong.
using WayToDie = std::function<std::string(const CrashTrial& trial, const std::string& job, Moment moment, Followed& followed)>;

/// One life of three ranks.
struct CrashTrial {
  const Stage& stage;
  const Death& death;
  std::uint32_t victim;
  std::function<bool()> was_heard;     ///< whether the victim had told others that it is there
  std::chrono::milliseconds patience;  ///< of creation: what nobody has heard of isn't missed before
  Tally& tally;
};

/// What a victim does: calls `pass` at the beginning of each part and with 0 at the end, and runs on until it is killed. What went wrong before.
std::string live(const CrashTrial& trial, const std::string& job, const std::function<void(int)>& pass);

/// Which steps of each part a victim dies at: every `stride`th of the first 200, from `offset` on, and ever fewer beyond.
struct Choice {
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;
};

/// Kills one rank in many lives. "" when in each of them both survivors learn within a second who died, or end well with the right numbers; leave nothing
/// behind; and make a communicator of their own that works. Else the first few that were otherwise.
std::string kill_at_each(const Stage& stage, std::uint32_t victim, const WayToDie& way, Choice choice, Tally& tally);

/// Kills rank 1 at every `stride`th of its steps, and the two others, who have other parts in a creation, at every `others_stride`th; checks that all is well.
/// `steps` is what they are called. Returns those of the longest life.
std::uint64_t kill_all(const WayToDie& way, const char* steps, std::uint64_t bytes, std::uint64_t stride, std::uint64_t others_stride);

}  // namespace crash
