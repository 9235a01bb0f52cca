#include "formats/tidy.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "plan/edit.hpp"

namespace rondo::formats {
namespace {

using plan::LaneId;
using SignalId = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

class Tidier {
 public:
  Tidier(std::vector<Program>& programs, bool last_waits) : programs_(programs), last_waits_(last_waits) {}

  /// Whether anything was left out: that may make more superfluous.
  bool pass() {
    bool changed = false;
    each_lane([&](std::uint32_t, std::uint32_t, std::vector<Step>& steps) {
      changed |= drop_known(steps);
      if (last_waits_) changed |= drop_last(steps);
    });
    note_awaited();
    each_lane([&](std::uint32_t rank, std::uint32_t lane, std::vector<Step>& steps) { changed |= drop_signals(rank, lane, steps); });
    each_lane([&](std::uint32_t, std::uint32_t, std::vector<Step>& steps) { renumber(steps); });
    return changed;
  }

 private:
  template <class Visit>
  void each_lane(Visit visit) {
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank)
      for (std::uint32_t lane = 0; lane < programs_[rank].lanes.size(); ++lane) visit(rank, lane, programs_[rank].lanes[lane].steps);
  }

  static bool drop_known(std::vector<Step>& steps) {
    std::map<LaneId, std::uint32_t> known;  // one more than the last signal waited for
    const auto is_known = [&](const Step& step) {
      if (step.kind != StepKind::wait || step.wait.lag != 0) return false;
      std::uint32_t& signals = known[{step.wait.rank, step.wait.lane}];
      if (step.wait.signal < signals) return true;
      signals = step.wait.signal + 1;
      return false;
    };
    return std::erase_if(steps, is_known) > 0;
  }

  static bool drop_last(std::vector<Step>& steps) {
    const std::size_t before = steps.size();
    while (!steps.empty() && steps.back().kind == StepKind::wait) steps.pop_back();
    return steps.size() != before;
  }

  void note_awaited() {
    awaited_.clear();
    each_lane([&](std::uint32_t, std::uint32_t, const std::vector<Step>& steps) {
      for (const Step& step : steps)
        if (step.kind == StepKind::wait) awaited_.insert({step.wait.rank, step.wait.lane, step.wait.signal});
    });
  }

  /// What a lane's signals are called from now on is noted for those who wait for them.
  bool drop_signals(std::uint32_t rank, std::uint32_t lane, std::vector<Step>& steps) {
    std::vector<Step> kept;
    std::uint32_t number = 0, made = 0;
    for (Step& step : steps) {
      if (step.kind != StepKind::signal) {
        kept.push_back(std::move(step));
        continue;
      }
      const SignalId id{rank, lane, number++};
      if (!awaited_.contains(id)) continue;
      const bool again = !kept.empty() && kept.back().kind == StepKind::signal;
      if (!again) {
        kept.push_back(std::move(step));
        ++made;
      }
      names_[id] = made - 1;
    }
    const bool changed = kept.size() != steps.size();
    steps = std::move(kept);
    return changed;
  }

  void renumber(std::vector<Step>& steps) const {
    for (Step& step : steps) {
      if (step.kind != StepKind::wait) continue;
      const auto at = names_.find({step.wait.rank, step.wait.lane, step.wait.signal});
      if (at != names_.end()) step.wait.signal = at->second;
    }
  }

  std::vector<Program>& programs_;
  const bool last_waits_;
  std::set<SignalId> awaited_;
  std::map<SignalId, std::uint32_t> names_;
};

}  // namespace

void tidy(std::vector<Program>& programs, bool last_waits) {
  while (Tidier(programs, last_waits).pass()) {
  }
}

}  // namespace rondo::formats
