// Counting semaphores become absolute positions: the k-th wait is for the k-th signal on the channel's other end.
#include <algorithm>
#include <optional>

#include "formats/mscclpp.hpp"

namespace rondo::formats {
namespace {

class Binder {
 public:
  Binder(const MscclppFile& file, const MscclppLanes& lanes, Problem& problem)
      : file_(file), lanes_(lanes), problem_(problem) {}

  /// The steps that `item` of this rank and lane becomes; `signals` counts the lane's signals before it.
  void bind(std::uint32_t rank, std::uint32_t lane, std::uint32_t signals, const Item& item, std::vector<Step>& steps) {
    switch (item.awaits) {
      case Awaits::nothing:
        break;
      case Awaits::channel:
        return add(steps, channel(rank, item));
      case Awaits::semaphore:
        return add_own(steps, rank, lane, signals, item, semaphore(rank, item));
      case Awaits::barrier:
        return barrier(rank, lane, item, steps);
      case Awaits::packets:
        packets(rank, lane, signals, item, steps);
    }
    steps.push_back(item.step);
  }

 private:
  void fail(const Item& item, const std::string& what) { problem_.report(item.path + ": " + what); }

  static void add(std::vector<Step>& steps, const std::optional<WaitFor>& wait) {
    if (!wait) return;
    Step step;
    step.kind = StepKind::wait;
    step.wait = *wait;
    steps.push_back(std::move(step));
  }

  /// Of signals of its own lane, the earlier ones need no wait and the later ones can't be waited for.
  void add_own(std::vector<Step>& steps, std::uint32_t rank, std::uint32_t lane, std::uint32_t signals,
               const Item& item, const std::optional<WaitFor>& wait) {
    if (!wait || wait->rank != rank || wait->lane != lane) return add(steps, wait);
    if (wait->signal >= signals) fail(item, "it waits for what its own thread block does later");
  }

  std::optional<WaitFor> channel(std::uint32_t rank, const Item& item) {
    const std::vector<std::uint32_t>& mine = file_.gpus[rank].peers[item.type];
    const std::uint32_t peer = mine[item.id];
    // The j-th channel to a peer ends at the peer's j-th channel back.
    auto ordinal = std::count(mine.begin(), mine.begin() + item.id, peer);
    const std::vector<std::uint32_t>& theirs = file_.gpus[peer].peers[item.type];
    std::uint32_t end = 0;
    while (end < theirs.size() && (theirs[end] != rank || ordinal-- > 0)) ++end;
    const std::string from = " on channel " + std::to_string(item.id) + " from gpu " + std::to_string(peer);
    if (end == theirs.size()) {
      fail(item, "it waits" + from + ", which has no channel for it");
      return std::nullopt;
    }
    return position(peer, {Awaits::channel, item.type, peer, end}, item, "signal" + from);
  }

  std::optional<WaitFor> semaphore(std::uint32_t rank, const Item& item) {
    return position(rank, {Awaits::semaphore, 0, rank, item.id}, item,
                    "release of semaphore " + std::to_string(item.id));
  }

  std::optional<WaitFor> position(std::uint32_t rank, const CounterKey& key, const Item& item,
                                  const std::string& what) {
    const auto at = lanes_.signalled.find(key);
    const std::size_t given = at == lanes_.signalled.end() ? 0 : at->second.signals.size();
    if (item.occurrence < given) return WaitFor{rank, at->second.lane, at->second.signals[item.occurrence], 0};
    fail(item, "it waits for " + what + " number " + std::to_string(item.occurrence + 1) + "; there are " +
                   std::to_string(given));
    return std::nullopt;
  }

  void barrier(std::uint32_t rank, std::uint32_t lane, const Item& item, std::vector<Step>& steps) {
    const CounterKey key{Awaits::barrier, 0, rank, item.id};
    const std::map<std::uint32_t, Counter>& members = lanes_.barriers.at(key);
    const std::uint32_t size = lanes_.barrier_sizes.at(key);
    if (members.size() != size) {
      return fail(item, "barrier " + std::to_string(item.id) + " is for " + std::to_string(size) +
                            " thread blocks, but " + std::to_string(members.size()) + " come to it");
    }
    for (const auto& [other, counter] : members) {
      if (other == lane) continue;
      if (item.occurrence >= counter.signals.size()) {
        return fail(item, "thread block " + std::to_string(other) + " comes to barrier " + std::to_string(item.id) +
                              " only " + std::to_string(counter.signals.size()) + " times");
      }
      add(steps, WaitFor{rank, other, counter.signals[item.occurrence], 0});
    }
  }

  /// One wait for each lane that writes some of the packets: its last signal stands for the earlier ones.
  void packets(std::uint32_t rank, std::uint32_t lane, std::uint32_t signals, const Item& item,
               std::vector<Step>& steps) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last;
    for (std::size_t k = item.packet_sources; k < item.step.sources.size(); ++k) {
      const Operand& source = item.step.sources[k];
      for (std::uint32_t j = source.index; j < source.index + source.count; ++j) {
        const std::uint32_t writer = j < lanes_.packets[rank].size() ? lanes_.packets[rank][j] : 0;
        if (writer == 0)
          return fail(item, "nobody writes packets to chunk " + std::to_string(j / file_.slices) + " of its scratch");
        const PacketWriter& from = lanes_.writers[writer - 1];
        std::uint32_t& signal = last[{from.rank, from.lane}];
        signal = std::max(signal, from.signal);
      }
    }
    for (const auto& [from, signal] : last)
      add_own(steps, rank, lane, signals, item, WaitFor{from.first, from.second, signal, 0});
  }

  const MscclppFile& file_;
  const MscclppLanes& lanes_;
  Problem& problem_;
};

}  // namespace

std::vector<Program> bind_mscclpp_waits(const MscclppFile& file, const MscclppLanes& lanes, Problem& problem) {
  Binder binder(file, lanes, problem);
  std::vector<Program> programs(lanes.items.size());
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    for (std::uint32_t lane = 0; lane < lanes.items[rank].size(); ++lane) {
      programs[rank].lanes.emplace_back();
      std::uint32_t signals = 0;
      for (const Item& item : lanes.items[rank][lane]) {
        binder.bind(rank, lane, signals, item, programs[rank].lanes.back().steps);
        signals += item.step.kind == StepKind::signal;
        if (problem.any()) return {};
      }
    }
  }
  return programs;
}

}  // namespace rondo::formats
