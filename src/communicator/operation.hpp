// One call in flight, from its arguments to its result.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/plan_cache.hpp"
#include "communicator/staging_budget.hpp"
#include "executor/run.hpp"
#include "rondo/communicator.hpp"

namespace rondo {

/// What a checked call runs as.
struct Task {
  PlanKey key;
  Binding binding;
};

/// The count in the key of a Call that should have been all_to_all_v(): a Call has no blocks.
inline constexpr std::uint64_t no_blocks = ~std::uint64_t{0};

/// Whether the call is in place, of those that all ranks or none must make so: what a rank overwrites others may still read.
inline bool is_in_place_for_all(const PlanKey& key, const void* input, const void* output) {
  return key.collective == Collective::all_to_all && key.count != 0 && input == output;
}

/// The part of a call that chooses its plan. Fields that mean nothing to the collective don't count.
inline PlanKey key_of(const Call& call) {
  const bool reduces = is_reduction(call.collective);
  if (call.collective == Collective::barrier) return PlanKey{};
  if (call.collective == Collective::all_to_all_v) return PlanKey{no_blocks, 0, call.collective, call.type, ReduceOp::sum};
  PlanKey key{call.count, is_rooted(call.collective) ? call.root : 0, call.collective, call.type, reduces ? call.op : ReduceOp::sum};
  key.in_place = is_in_place_for_all(key, call.input, call.output);
  return key;
}

/// A message's key: its tag takes the place of the root, which it hasn't.
inline PlanKey message_key(std::uint64_t count, DataType type, std::uint32_t tag) { return PlanKey{count, tag, Collective::send_recv, type, ReduceOp::sum}; }

struct Operation;

/// What coalescing adds to the operations that it puts into a queue (coalesce.cpp).
struct Batch {
  std::uint64_t agreed = 0;                         ///< of an agreement: its buffer
  std::vector<std::shared_ptr<Operation>> members;  ///< of a call that does theirs
  std::uint64_t lengths = 0;                        ///< a hash of the members' counts, which must be the same on all ranks
  CallIdentity identity;                            ///< of the running call: its plan's, with that
};

struct Operation {
  Task task;
  std::unique_ptr<const BlockTable> blocks;      ///< of a started all_to_all_v: task.binding names them
  std::unique_ptr<const SegmentTable> segments;  ///< of a started call on a list, likewise
  std::vector<void*> apart;                      ///< of a started call whose blocks lie apart, likewise
  const PreparedPlan* prepared = nullptr;
  Run run;
  std::unique_ptr<Batch> batch;     ///< of an agreement, or a call that does others' work
  std::unique_ptr<double> probed;   ///< of a probe's calls: the latency in ns that it found (replan.cpp)
  bool alone = false;               ///< runs by itself whatever its size
  std::int64_t held_since_ns = 0;   ///< 0: it wasn't held back for others to come
  bool begun = false;
  bool warned = false;             ///< that it is slow
  std::int64_t started_ns = 0;     ///< 0 until its first wait outlasted the spins
  std::int64_t next_check_ns = 0;
  std::int64_t absent_ns = 0;      ///< of its wait: this rank itself didn't run
  std::int64_t timeout_ns = 0;     ///< 0: its first look around takes the communicator's
  std::uint32_t record_index = 0;  ///< of the flight recorder
  std::optional<Error> error;
  std::optional<std::uint32_t> source;  ///< of a receive: the rank it is from, once that is known
  std::function<void()> tell;      ///< Work::on_end(); guarded by the token
  std::atomic<bool> done{false};   ///< release; publishes error
};

/// "all_reduce of 1024 f32 (sum) (#12)": a call that has begun, for messages.
std::string title(const Operation& operation);

struct MemoryRange {
  std::uintptr_t begin, end;
};

/// The operations at the head of a queue that could be one call, as far as this rank sees (coalesce.cpp).
struct QueueHead {
  std::size_t operations = 0;
  std::uint64_t bytes = 0;
  std::vector<MemoryRange> memory;  ///< theirs, sorted
  bool closed = false;              ///< no more join
};

struct FreeArea {
  void operator()(std::byte* area) const { std::free(area); }
};

/// A context with the plans and the queue of its calls: they run one after another, in order.
struct Channel {
  Channel(Context the_context, PlanSource source) : context(std::move(the_context)), cache(std::move(source)) {}
  Context context;
  PlanCache cache;
  std::deque<std::shared_ptr<Operation>> queue;  // shared with the Works that wait for them
  Operation sync;                                ///< the operation of run(): nothing is allocated for it
  bool sync_waits = false;                       ///< `sync` is under way though its caller may have given up the token; the queue waits for it
  std::uint64_t staging_offset = 0;              ///< in the own segment
  bool staging_committed = false;
  std::int64_t until_probe = std::numeric_limits<std::int64_t>::max();  ///< work of calls; at 0 the next one waits for a probe (replan.cpp)
  std::unique_ptr<std::byte, FreeArea> local_area;  ///< own control words and staging where links are messages
  StagingShare share;                               ///< of a pair: what its own side may commit
};

}  // namespace rondo
