// From what cores and pairs of cores do to the figures of the cost model (docs/design/0003-cost-model.md, Calibration).
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "calibration/add_floats.hpp"
#include "calibration/distances.hpp"
#include "calibration/fields.hpp"
#include "calibration/memory.hpp"
#include "calibration/pair.hpp"
#include "calibration/team.hpp"
#include "rondo/calibration.hpp"
#include "rondo/kernels.hpp"

namespace rondo {
namespace {

using calibration::add_floats;
using calibration::line_bytes;
using calibration::Memory;

constexpr std::uint64_t piece_bytes = 64u << 10;  ///< as the executor copies
constexpr std::uint64_t least_block_bytes = 16u << 10, most_block_bytes = 256u << 10;
constexpr std::uint64_t most_memory_bytes = 1u << 30;    ///< of all processors' buffers together
constexpr std::size_t most_processors = 64;              ///< that are busy at once
constexpr double worth_ring = 0.95;  ///< of the time: a ring that takes less is worth what speaks against it
constexpr std::uint64_t roomy_ring_bytes = 256u << 10;  ///< in such a one ranks hardly wait for one another's slots
/// Outputs that may be better written to the caches or past them, as multiples of a cache: of the largest one, or of a core's own.
constexpr double least_cached = 0.25, most_cached = 2, most_of_own = 32;
constexpr double worth_streaming = 0.85;  ///< of the time of copies through the caches
constexpr double worth_passing_own = 0.93;  ///< likewise, past a core's own caches: whole calls gain more than copies do (0003-cost-model.md, "Calibration")
constexpr std::uint32_t attempts = 3;
constexpr double copying_ns = 60e6;   ///< how long one processor copies for one figure
constexpr std::uint32_t rounds = 5;   ///< of everything, whose middle is taken: what else a machine does comes and goes within seconds

struct Copying {
  double copy_ns_per_byte = 0;
  double reduce_ns_per_byte = 0;  ///< what one more source adds
  double streamed_ns_per_byte = 0;  ///< copying past the caches
};

/// One processor that goes round and round through its buffers.
struct Loop {
  Memory memory;
  Copying taken;

  void run(std::uint64_t bytes, std::atomic<std::size_t>& arrived, std::size_t all) {
    const std::uint64_t part = bytes / 3 / line_bytes * line_bytes;
    std::byte *input = memory.get(), *other = input + part, *output = other + part;
    std::memset(input, 0, 3 * part);  // here, so that the pages are near this processor
    arrived.fetch_add(1, std::memory_order_acq_rel);
    while (arrived.load(std::memory_order_acquire) < all) sched_yield();
    taken.copy_ns_per_byte = timed(part, [&](std::uint64_t at, std::uint64_t length) { cpu_copy(output + at, input + at, length, false); });
    const double reduce = timed(part, [&](std::uint64_t at, std::uint64_t length) { add_floats(output + at, input + at, other + at, length); });
    taken.reduce_ns_per_byte = std::max(0.0, reduce - taken.copy_ns_per_byte);
    taken.streamed_ns_per_byte = timed(part, [&](std::uint64_t at, std::uint64_t length) { cpu_copy(output + at, input + at, length, true); });
  }

 private:
  template <class Work>
  static double timed(std::uint64_t bytes, Work&& work) {
    std::vector<double> times;
    const double begin = calibration::clock_ns();
    for (double now = begin; times.size() < 5 || now - begin < copying_ns / 2;) {
      for (std::uint64_t at = 0; at < bytes; at += piece_bytes) work(at, std::min(piece_bytes, bytes - at));
      const double end = calibration::clock_ns();
      times.push_back((end - now) / static_cast<double>(bytes));
      now = end;
    }
    times.erase(times.begin());  // the caches hold something else
    return calibration::lower_quartile(std::move(times));
  }
};

/// What a byte takes on each of `cpus` at once, with `bytes` of buffers each; a copy touches two thirds of them. The slowest processor's.
Result<Copying> copy_through(const std::vector<std::uint32_t>& cpus, std::uint64_t bytes) {
  std::vector<Loop> loops(cpus.size());
  for (Loop& loop : loops) {
    loop.memory.reset(static_cast<std::byte*>(std::malloc(bytes)));
    if (!loop.memory)
      return Error{Errc::out_of_resources, "no memory to measure with: " + std::to_string(bytes) + " bytes for each processor", 0, "calibration"};
  }
  std::atomic<std::size_t> arrived{0};
  auto done = calibration::run_on(cpus, [&](std::size_t k) { loops[k].run(bytes, arrived, cpus.size()); });
  if (!done) return done.error();
  Copying slowest;
  for (const Loop& loop : loops) {
    slowest.copy_ns_per_byte = std::max(slowest.copy_ns_per_byte, loop.taken.copy_ns_per_byte);
    slowest.reduce_ns_per_byte = std::max(slowest.reduce_ns_per_byte, loop.taken.reduce_ns_per_byte);
    slowest.streamed_ns_per_byte = std::max(slowest.streamed_ns_per_byte, loop.taken.streamed_ns_per_byte);
  }
  return slowest;
}

/// From how many times `cache` on outputs are better written past the caches, in `worth` of the time, all of `cpus` copying at once; `most` where smaller ones
/// are not.
Result<double> least_streamed(const std::vector<std::uint32_t>& cpus, std::uint64_t cache, double most, double worth) {
  double least = most;
  for (double part = most / 2; part >= least_cached; part /= 2) {
    const auto output = static_cast<std::uint64_t>(part * static_cast<double>(cache));
    auto taken = copy_through(cpus, std::min(most_memory_bytes / cpus.size(), 3 * output));
    if (!taken) return taken.error();
    if (taken->streamed_ns_per_byte > worth * taken->copy_ns_per_byte) break;
    least = part;
  }
  return least;
}

/// One processor of each core, of those that this thread may run on: no more than the control group pays for.
std::vector<std::uint32_t> cores_of(const Topology& topology) {
  const std::vector<std::uint32_t> allowed = place_of_this_thread(topology).cpus;
  std::vector<std::uint32_t> cpus;
  for (const NodeKind kind : {NodeKind::core, NodeKind::cpu}) {
    if (!cpus.empty()) break;
    for (const Node& node : topology.nodes) {
      if (node.kind != kind || node.host != 0) continue;
      const auto mine = std::find_first_of(node.cpus.begin(), node.cpus.end(), allowed.begin(), allowed.end());
      if (mine != node.cpus.end()) cpus.push_back(*mine);
    }
  }
  if (cpus.size() > topology.usable_cpus(0)) cpus.resize(topology.usable_cpus(0));
  return cpus;
}

LinkFigures link_of(const calibration::PairFigures& pair, double copy_ns_per_byte) {
  const double publish = std::max(copy_ns_per_byte, pair.publish_ns_per_byte);
  // Where reductions store elsewhere and copy there (StoreTraits), sharing is publishing.
  const double share = cpu_stores().copies_beat_stores ? publish : pair.share_ns_per_byte;
  const double past_pull = std::max(copy_ns_per_byte, pair.past_pull_ns_per_byte), past_publish = std::max(copy_ns_per_byte, pair.past_publish_ns_per_byte);
  return {pair.latency_ns, std::max(copy_ns_per_byte, pair.pull_ns_per_byte), publish, share, past_pull, past_publish,
          std::max(copy_ns_per_byte, pair.fresh_pull_ns_per_byte)};
}

/// The kernel's copies were of `copied_bytes` each.
void take_kernel_copies(CoreFigures& figures, const calibration::PairFigures& pair, std::uint64_t copied_bytes) {
  if (pair.kernel_ns_per_byte == 0) return;
  figures.kernel_call_ns = pair.kernel_call_ns;
  const double call = pair.kernel_call_ns / static_cast<double>(copied_bytes);
  figures.kernel_ns_per_byte = std::max(0.0, pair.kernel_ns_per_byte - pair.pull_ns_per_byte - call);
}

/// A byte from core to core, through slots.
double handed_over(const calibration::PairFigures& pair) { return pair.publish_ns_per_byte + pair.pull_ns_per_byte; }

/// Of neighbours, and of the ends of the machine: what was measured of the links goes into `links`.
Result<void> measure_links(CoreFigures& figures, const std::vector<std::uint32_t>& cores, std::uint64_t own_cache,
                           std::vector<LinkFigures>& links) {
  if (cores.size() < 2) return {};
  const std::uint64_t bytes = std::clamp(own_cache / 4, least_block_bytes, most_block_bytes);
  // Two halves of the staging take turns: a quarter of the cache, or twice the cache.
  std::uint64_t ring = std::max(bytes / 2, own_cache / 8);
  Result<calibration::PairFigures> near(calibration::PairFigures{}), longer = near;
  for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
    near = calibration::measure_pair(cores[0], cores[1], bytes, 2 * ring);
    if (!near) return near.error();
    longer = calibration::measure_pair(cores[0], cores[1], bytes, 2 * own_cache);
    if (!longer) return longer.error();
    const auto [nearer, farther] = std::minmax(near->latency_ns, longer->latency_ns);
    if (farther < calibration::apart * nearer) break;  // else the cores have moved
  }
  // A longer one drives callers' buffers out of a core's own cache; through one that isn't roomy ranks wait for one another.
  const double worth = ring >= roomy_ring_bytes ? worth_ring : 1 / worth_ring;
  if (handed_over(*longer) < worth * handed_over(*near)) {
    near = longer;
    ring = own_cache;
  }
  links.push_back(link_of(*near, figures.copy_ns_per_byte));
  if (cores.size() > 2) {
    const auto far = calibration::measure_pair(cores.front(), cores.back(), bytes, 2 * ring);
    if (!far) return far.error();
    links.push_back(link_of(*far, figures.copy_ns_per_byte));
  }
  figures.ring_bytes = static_cast<double>(ring);
  figures.reduce_ns_per_byte = near->reduce_ns_per_byte;
  take_kernel_copies(figures, *near, bytes / calibration::pieces_of_block);
  figures.switch_ns = near->switch_ns;
  return {};
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  char text[32] = "";
  if (gmtime_r(&now, &date) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

/// But for the links, which go into `links`.
Result<CoreFigures> measure_once(const Topology& topology, std::vector<LinkFigures>& links) {
  CoreFigures figures = core_figures(topology);
  std::vector<std::uint32_t> cores = cores_of(topology);
  if (cores.empty()) return Error{Errc::unsupported, "the topology names no processor of this machine", 0, "calibration"};
  const CostModel known = cost_model(topology, static_cast<std::uint32_t>(cores.size()), figures);
  const std::uint64_t own_cache = known.own_cache_bytes, cache = std::max(own_cache, known.cache_bytes);

  auto own = copy_through({cores[0]}, own_cache / 4);
  if (!own) return own.error();
  // Steps and calls aren't measured here, where there is no communicator; a core that copies more slowly than others of its kind does everything more slowly.
  const double slower = own->copy_ns_per_byte / figures.copy_ns_per_byte;
  figures.step_ns *= slower;
  figures.call_ns *= slower;
  figures.copy_ns_per_byte = own->copy_ns_per_byte;
  figures.reduce_ns_per_byte = own->reduce_ns_per_byte;
  if (auto done = measure_links(figures, cores, own_cache, links); !done) return done.error();

  if (cores.size() > most_processors) cores.resize(most_processors);
  // Both sides of a copy are touched. In the shared cache where there is one that holds four times the own ones.
  double shared = 0;
  if (cache >= 8 * own_cache) {
    auto through = copy_through(cores, 4 * own_cache);
    if (!through) return through.error();
    shared = std::max(0.0, through->copy_ns_per_byte - own->copy_ns_per_byte) / 2;
  }
  auto streamed = copy_through(cores, std::min(most_memory_bytes / cores.size(), 8 * cache));
  if (!streamed) return streamed.error();
  figures.shared_ns_per_byte = shared;
  figures.memory_ns_per_byte = std::max(0.0, (streamed->copy_ns_per_byte - own->copy_ns_per_byte) / 2 - shared);
  auto streaming = cpu_stores().memory_beats_shared_cache ? least_streamed(cores, own_cache, most_of_own, worth_passing_own)
                                                          : least_streamed(cores, cache, most_cached, worth_streaming);
  if (!streaming) return streaming.error();
  figures.stream_parts = *streaming;
  figures.source = "measured by rondo calibrate, " + today();
  return figures;
}

}  // namespace

Result<CoreFigures> calibrate(const Topology& topology, const std::optional<CoreFigures>& earlier) {
  std::vector<CoreFigures> all;
  std::vector<LinkFigures> links;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    auto figures = measure_once(topology, links);
    if (!figures) return figures;
    all.push_back(std::move(*figures));
  }
  CoreFigures middle = all.front();
  for (const calibration::Field& field : calibration::fields) {
    const auto less = [&](const CoreFigures& a, const CoreFigures& b) { return a.*field.value < b.*field.value; };
    std::nth_element(all.begin(), all.begin() + rounds / 2, all.end(), less);
    middle.*field.value = all[rounds / 2].*field.value;
  }
  if (links.empty()) return middle;
  middle.links = calibration::by_distance(std::move(links));
  if (earlier) middle.links = calibration::with_other_distances(std::move(middle.links), earlier->links);
  return middle;
}

}  // namespace rondo
