#include "calibration/pair.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include "base/cpu_relax.hpp"
#include "base/kernel_copy.hpp"
#include "calibration/add_floats.hpp"
#include "calibration/memory.hpp"
#include "calibration/team.hpp"
#include "rondo/kernels.hpp"

namespace rondo::calibration {
namespace {

constexpr std::uint32_t turns = 300;
constexpr std::uint32_t bounces = 200;   ///< of a flag in a turn
constexpr std::uint32_t bounce_turns = 15;
constexpr std::uint32_t attempts = 5;  ///< while the cores move, as virtual ones do
constexpr std::uint64_t fresh_bytes = 8u << 10;  ///< which a first cache holds four times: what is read, where from, and two slots
constexpr double moved = 1.3;          ///< a latency that changed by more
constexpr std::uint32_t yields = 2000;
constexpr std::uint32_t spins_before_yield = 10'000;  ///< where something else runs on one of the two processors

struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
};

/// Two threads that wait for one another.
class Turns {
 public:
  void raise(std::size_t self, std::uint64_t value) { flags_[self].value.store(value, std::memory_order_release); }
  void await(std::size_t self, std::uint64_t value) const {
    for (std::uint32_t spin = 0; flags_[1 - self].value.load(std::memory_order_acquire) < value;)
      if (++spin > spins_before_yield) sched_yield();
      else cpu_relax();
  }
  /// Looks all the time, as the probe of a communicator does: its figure and this one are of one kind.
  void watch(std::size_t self, std::uint64_t value) const {
    for (std::uint32_t spin = 0; flags_[1 - self].value.load(std::memory_order_acquire) < value;)
      if (++spin > spins_before_yield) sched_yield();
  }
  void yield_until(std::size_t self, std::uint64_t value) const {
    while (flags_[1 - self].value.load(std::memory_order_acquire) < value) sched_yield();
  }

 private:
  std::array<Flag, 2> flags_;
};

/// One of the two cores' work; what it takes, turn by turn.
class Side {
 public:
  /// `slots` has room for twice a number of blocks, which are written in turn: the second half past the caches.
  Side(std::size_t self, Turns& turn, std::array<Memory, 2>& slots, std::uint64_t blocks, Memory own, std::uint64_t bytes)
      : self_(self), turn_(turn), slots_(slots[self].get()), peers_(slots[1 - self].get()), blocks_(blocks), input_(own.get()), other_(input_ + bytes),
        output_(other_ + bytes), own_(std::move(own)), piece_(bytes / pieces_of_block) {}

  const std::byte* input() const { return input_; }
  /// Before run(): what the other side writes, and this one reads.
  void read_input_of(const Side& peer) { peers_input_ = peer.input(); }

  void run() {
    for (std::uint32_t k = 0; k < turns; ++k) {
      rewrite_input();  // the peer has read it in the last turn
      meet();
      std::uint64_t block = 2 * k % blocks_ * pieces_of_block * piece_;
      publish.push_back(time([&](std::uint64_t at) { cpu_publish(slots_ + block + at, input_ + at, piece_); }));
      meet();
      pull.push_back(time([&](std::uint64_t at) { copy_out(output_ + at, peers_ + block + at, piece_, pulls_); }));
      meet();
      cpu_publish(slots_ + block, input_, fresh_bytes);
      meet();
      fresh_pull.push_back(timed(fresh_bytes, [&] { copy_out(output_, peers_ + block, fresh_bytes, pulls_); }));
      meet();
      const std::uint64_t past = block + blocks_ * pieces_of_block * piece_;
      past_publish.push_back(time([&](std::uint64_t at) { cpu_publish(slots_ + past + at, input_ + at, piece_, true); }));
      meet();
      past_pull.push_back(time([&](std::uint64_t at) { copy_out(output_ + at, peers_ + past + at, piece_, stores_.pulls_beat_copies); }));
      meet();
      block = (2 * k + 1) % blocks_ * pieces_of_block * piece_;
      alone.push_back(time([&](std::uint64_t at) { add(output_ + at, at, false); }));
      shared.push_back(time([&](std::uint64_t at) { add(slots_ + block + at, at, true); }));
      meet();
      combined.push_back(time([&](std::uint64_t at) { add_floats(output_ + at, input_ + at, peers_ + block + at, piece_); }));
      meet();
      for (const std::size_t side : {0, 1}) {  // in turn: two processes don't share their page tables, as these threads do
        if (side != self_) rewrite_input();
        meet();
        if (side == self_) copy_by_kernel();
        meet();
      }
    }
  }

  std::vector<double> publish, pull, fresh_pull, past_publish, past_pull, alone, shared, combined, kernel, kernel_call;
  bool kernel_copies = true;

 private:
  /// What a byte takes of the `bytes` that `work` moves.
  template <class Work>
  static double timed(std::uint64_t bytes, Work&& work) {
    const double begin = clock_ns();
    work();
    return (clock_ns() - begin) / static_cast<double>(bytes);
  }
  /// Of a block, piece by piece.
  template <class Work>
  double time(Work&& work) const {
    return timed(pieces_of_block * piece_, [&] {
      for (std::uint64_t k = 0; k < pieces_of_block; ++k) work(k * piece_);
    });
  }
  /// As callers do: so it is in this core's caches alone.
  void rewrite_input() { cpu_copy(input_, other_, pieces_of_block * piece_, false); }
  void add(std::byte* to, std::uint64_t at, bool for_peers) const { add_floats(to, input_ + at, other_ + at, piece_, for_peers); }
  /// Of a process's own memory it may always, where there is such a call.
  void copy_by_kernel() {
    const auto copy = [&](std::uint64_t at, std::uint64_t bytes) {
      kernel_copies &= copy_from_process(process_, output_ + at, reinterpret_cast<std::uint64_t>(peers_input_ + at), bytes) == 0;
    };
    kernel.push_back(time([&](std::uint64_t at) { copy(at, piece_); }));
    kernel_call.push_back(time([&](std::uint64_t at) { copy(at, line_bytes); }) * static_cast<double>(piece_));
  }
  /// As the executor copies out of slots.
  static void copy_out(std::byte* to, const std::byte* slot, std::uint64_t bytes, bool pulls) {
    if (pulls) cpu_pull(to, slot, bytes, true);
    else cpu_copy(to, slot, bytes, false);
  }
  void meet() {
    turn_.raise(self_, ++met_);
    turn_.await(self_, met_);
  }

  std::size_t self_;
  Turns& turn_;
  std::byte *slots_, *peers_;
  std::uint64_t blocks_;
  std::byte *input_, *other_, *output_;
  const std::byte* peers_input_ = nullptr;
  Memory own_;
  std::uint64_t piece_;
  std::uint64_t met_ = 0;
  const std::int64_t process_ = getpid();
  const StoreTraits stores_ = cpu_stores();
  const bool pulls_ = stores_.pulls_beat_copies || stores_.pulls_near();  ///< out of slots that go through the caches
};

Result<double> flag_ns(std::uint32_t a, std::uint32_t b) {
  Turns turn;
  std::vector<double> times;
  auto done = run_on({a, b}, [&](std::size_t self) {
    for (std::uint64_t k = 0; k < bounce_turns; ++k) {
      const double begin = clock_ns();
      for (std::uint64_t i = 1; i <= bounces; ++i) {
        const std::uint64_t value = k * bounces + i;
        if (self == 0) turn.raise(self, value);
        turn.watch(self, value);
        if (self == 1) turn.raise(self, value);
      }
      if (self == 0) times.push_back((clock_ns() - begin) / bounces / 2);
    }
  });
  if (!done) return done.error();
  return lower_quartile(times);
}

/// Two threads of one processor that yield to one another.
Result<double> yield_ns(std::uint32_t cpu) {
  Turns turn;
  double taken = 0;
  auto done = run_on({cpu, cpu}, [&](std::size_t self) {
    const double begin = clock_ns();
    for (std::uint64_t i = 1; i <= yields; ++i) {
      if (self == 0) turn.raise(self, i);
      turn.yield_until(self, i);
      if (self == 1) turn.raise(self, i);
    }
    if (self == 0) taken = (clock_ns() - begin) / yields / 2;
  });
  if (!done) return done.error();
  return taken;
}

/// Blocks of `bytes` each through `slot_bytes` of slots.
Result<PairFigures> exchange(std::uint32_t a, std::uint32_t b, std::uint64_t bytes, std::uint64_t slot_bytes) {
  const std::uint64_t blocks = std::max<std::uint64_t>(1, slot_bytes / bytes);
  std::array<Memory, 2> slots{allocate(2 * blocks * bytes), allocate(2 * blocks * bytes)};
  Memory own[] = {allocate(3 * bytes), allocate(3 * bytes)};
  if (!slots[0] || !slots[1] || !own[0] || !own[1])
    return Error{Errc::out_of_resources, "no memory for blocks of " + std::to_string(bytes) + " bytes to measure with", 0, "calibration"};
  Turns turn;
  Side sides[] = {{0, turn, slots, blocks, std::move(own[0]), bytes}, {1, turn, slots, blocks, std::move(own[1]), bytes}};
  for (const std::size_t self : {0, 1}) sides[self].read_input_of(sides[1 - self]);
  if (auto done = run_on({a, b}, [&](std::size_t self) { sides[self].run(); }); !done) return done.error();
  const auto mean = [&](std::vector<double> Side::* what) { return (lower_quartile(sides[0].*what) + lower_quartile(sides[1].*what)) / 2; };
  PairFigures figures;
  figures.publish_ns_per_byte = mean(&Side::publish);
  figures.pull_ns_per_byte = mean(&Side::pull);
  figures.fresh_pull_ns_per_byte = mean(&Side::fresh_pull);
  figures.past_publish_ns_per_byte = mean(&Side::past_publish);
  figures.past_pull_ns_per_byte = mean(&Side::past_pull);
  figures.share_ns_per_byte = std::max(0.0, mean(&Side::shared) - mean(&Side::alone));
  figures.reduce_ns_per_byte = std::max(0.0, mean(&Side::combined) - mean(&Side::pull));
  if (sides[0].kernel_copies && sides[1].kernel_copies) {
    figures.kernel_ns_per_byte = mean(&Side::kernel);
    figures.kernel_call_ns = mean(&Side::kernel_call);
  }
  return figures;
}

}  // namespace

double clock_ns() { return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double lower_quartile(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

Result<PairFigures> measure_pair(std::uint32_t a, std::uint32_t b, std::uint64_t bytes, std::uint64_t slot_bytes) {
  auto switched = yield_ns(a);
  if (!switched) return switched.error();
  auto before = flag_ns(a, b);
  if (!before) return before.error();
  for (std::uint32_t attempt = 1;; ++attempt) {
    auto figures = exchange(a, b, bytes, slot_bytes);
    if (!figures) return figures.error();
    auto after = flag_ns(a, b);
    if (!after) return after.error();
    const bool still = std::max(*before, *after) < moved * std::min(*before, *after);
    if (still || attempt == attempts) {
      figures->latency_ns = (*before + *after) / 2;
      figures->switch_ns = *switched;
      return *figures;
    }
    before = after;
  }
}

}  // namespace rondo::calibration
