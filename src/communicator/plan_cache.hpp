// Calls → compiled plans. Keys are exact, since compiling is cheap; a hit costs one comparison for the call that repeats.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "communicator/flight_recorder.hpp"
#include "executor/compile.hpp"
#include "executor/context.hpp"
#include "rondo/communicator.hpp"
#include "rondo/planning.hpp"
#include "rondo/verifier.hpp"

namespace rondo {

struct PlanKey {
  std::uint64_t count = 0;
  std::uint32_t root = 0;
  Collective collective = Collective::barrier;
  DataType type = DataType::u8;
  ReduceOp op = ReduceOp::sum;
  bool symmetric = false;  ///< peers can read the call's buffers
  bool in_place = false;   ///< of all_to_alls, and of symmetric all_reduces: ranks agree on it
  std::optional<DataType> wire = std::nullopt;  ///< of sums of f32
  bool operator==(const PlanKey&) const = default;
};

/// The same call where its buffers are of no kind that peers can read.
PlanKey ordinary(PlanKey key);

/// How the buffers of a call of rank `rank` lie to each other; any where it hasn't both.
Alias alias_of(const Call& call, std::uint32_t rank);

/// What the pointers of a call must be like, worked out once for a key.
struct PointerRule {
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t input_shift = 0;    ///< in place: input + output_shift == output + input_shift
  std::uint64_t output_shift = 0;
  std::uintptr_t alignment_mask = 0;
  bool reads = true;                ///< this rank has an input
  bool writes = true;               ///< this rank has an output
  bool empty = false;               ///< nothing to read or write
  bool out_of_place = true;         ///< the plan serves separate buffers
  bool in_place = true;             ///< the plan serves overlapping ones

  bool accepts(const void* input, const void* output) const {
    if (empty) return true;
    const auto in = reinterpret_cast<std::uintptr_t>(input);
    const auto out = reinterpret_cast<std::uintptr_t>(output);
    if (reads && (in == 0 || (in & alignment_mask) != 0)) return false;
    if (writes && (out == 0 || (out & alignment_mask) != 0)) return false;
    if (!reads || !writes) return true;
    if (in + output_shift == out + input_shift) return in_place;
    return out_of_place && (in + input_bytes <= out || out + output_bytes <= in);
  }
};

/// The rule of a call of rank `rank` among `ranks` with a plan of that header.
PointerRule pointer_rule(const PlanKey& key, const PlanHeader& header, std::uint32_t rank, std::uint32_t ranks);

/// Planned plans are generated from their headers, so the header is their identity.
std::uint64_t header_hash(const PlanHeader& header);

/// A plan ready to run: compiled, with the identity and digest its calls carry.
struct PreparedPlan {
  PointerRule rule;
  Executable executable;
  CallIdentity identity;
  std::uint32_t digest = 0;
  std::int64_t work = 1;  ///< roughly what it takes, the same on all ranks: 1 and as many as its buffers have pages of 4 KiB
  ShortName name{};  ///< of the algorithm
};

/// What preparing depends on besides the key.
struct PlanSource {
  const Topology* topology = nullptr;
  CostModel cost;
  PlanningOptions options;
  ContextLayout layout;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::vector<std::uint32_t> hosts;      ///< by rank, where options.limits.reach has hosts
  bool one_process = false;              ///< all memory is symmetric, and nobody says so
  bool kernel_copies = false;            ///< other memory the kernel can copy from rank to rank
  std::uint64_t stream_above_bytes = 0;  ///< outputs beyond this are written past the caches (mark_stores.cpp)
  StoreTraits stores;
};

/// What the cost model says of a distance that was probed.
inline constexpr const char* probed_source = "probed between the first and the last rank";

/// For maps.
struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const;
};

/// A plan as it runs there: the links that no message transport serves have become slots.
Plan lower_for(const PlanSource& source, const Plan& plan);

class PlanCache {
 public:
  explicit PlanCache(PlanSource source) : source_(std::move(source)) {}

  /// The prepared plan of a call whose key was used not long ago; else null.
  const PreparedPlan* repeated(const PlanKey& key) const {
    const Recent& recent = recent_[place_of(key.collective, key.root)];
    return key == recent.key ? recent.prepared : nullptr;
  }

  struct Recent {
    PlanKey key;
    const PreparedPlan* prepared = nullptr;
  };
  /// The same from the call itself, for one that repeats, perhaps on other memory (the key says on which); else null, and its key has to be made.
  const Recent* repeated(const Call& call) const {
    const Recent& recent = recent_[place_of(call.collective, call.root)];
    const PlanKey& key = recent.key;
    const bool same = key.count == call.count && key.root == call.root && key.collective == call.collective && key.type == call.type && key.op == call.op;
    return same && !key.wire && recent.prepared != nullptr ? &recent : nullptr;
  }

  /// The prepared plan of a call whose key makes sense; valid until clear(). Errors as make_plan and compile.
  Result<const PreparedPlan*> find(const PlanKey& asked);

  /// From now on calls of this collective run `plan` (already lowered for this cache's links), which is proved to be as strict as that, if it is proved at all;
  /// where peers can read the call's buffers `direct`, if it isn't empty.
  void use(Plan plan, std::optional<Plan> direct, std::uint64_t hash, std::optional<Strictness> proved);

  /// The neutral plan of a call, with the candidates. `alias`: of this rank's buffers, which predictions are for; the plan is the same.
  Result<Plan> plan(const PlanKey& key, Alias alias = Alias::any) const;

  /// Forgets prepared plans; nobody may be running one.
  void clear();

  /// Plans from now on for ranks that are so far apart, and forgets those for another distance.
  void set_latency(double latency_ns);
  std::size_t size() const { return prepared_.size(); }
  const PlanSource& source() const { return source_; }

 private:
  static constexpr std::size_t recent_places = 16;
  static std::size_t place_of(Collective collective, std::uint32_t root) { return (root + 3 * static_cast<std::size_t>(collective)) % recent_places; }
  PlanKey runs_as(const PlanKey& key, const Plan& plan) const;
  const PreparedPlan* note(const PlanKey& key, const PreparedPlan* prepared);

  struct Imported {
    Plan plan;
    std::optional<Plan> direct;
    std::uint64_t hash;
    std::optional<Strictness> proved;
  };

  PlanSource source_;
  std::unordered_map<PlanKey, std::shared_ptr<const PreparedPlan>, PlanKeyHash> prepared_;  ///< some keys share one
  std::map<Collective, Imported> imported_;
  std::array<Recent, recent_places> recent_;  ///< one of each place: calls that repeat, with other roots or collectives in between
};

}  // namespace rondo
