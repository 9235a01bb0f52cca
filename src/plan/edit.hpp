// Changing programs: steps put in front of others, and signals at the ends of lanes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::plan {

using LaneId = std::pair<std::uint32_t, std::uint32_t>;  ///< rank, lane

/// All ranks' programs of a complete plan.
std::vector<Program> all_programs(const Plan& plan);

/// The same plan with other programs.
Plan with_programs(const Plan& plan, PlanHeader header, std::vector<Program> programs);

std::uint32_t largest_skew(const std::vector<Program>& programs);

/// A depth at which a wait for the end of the piece `depth` ago never closes a circle through skewed steps.
std::uint32_t depth_for_credits(const PlanHeader& header, const std::vector<Program>& programs);

Step make_wait(const WaitFor& wait, std::uint32_t skew);
Step make_signal(std::uint32_t skew);

/// The signal that comes when a lane has done all its steps for a piece; appended unless the lane ends with one.
std::uint32_t end_signal(Lane& lane);

/// The same signal where the lane has it already.
std::optional<std::uint32_t> existing_end_signal(const Lane& lane);

/// Copies that ranks share out (Step::once) become those of their words' owners.
void settle_once(std::vector<Program>& programs);

/// Steps to be put in front of others; `apply` keeps every `after` at the step it named.
class Insertions {
 public:
  void before(std::uint32_t lane, std::size_t step, Step inserted) {
    steps_[{lane, step}].push_back(std::move(inserted));
  }
  void apply(Program& program) const;

 private:
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<Step>> steps_;
};

/// What a lane has waited for so far in its body: a wait covers later steps of no smaller skew.
template <class Key>
class Waited {
 public:
  bool covers(const Key& key, std::uint32_t skew) const {
    const auto at = skews_.find(key);
    return at != skews_.end() && at->second <= skew;
  }
  void add(const Key& key, std::uint32_t skew) {
    const auto [at, fresh] = skews_.try_emplace(key, skew);
    if (!fresh && skew < at->second) at->second = skew;
  }

 private:
  std::map<Key, std::uint32_t> skews_;
};

}  // namespace rondo::plan
