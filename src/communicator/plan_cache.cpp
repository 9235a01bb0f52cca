#include "communicator/plan_cache.hpp"

namespace rondo {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) { return (hash ^ word) * 0x9e3779b97f4a7c15u ^ (hash >> 31); }

/// From how many bytes on a block of an all_to_all_v is had sooner from where it lies, by the kernel, than through slots: its sender's copy saved is then
/// worth the call of the kernel, and the wait for who reads it. 0: never.
std::uint64_t rendezvous_bytes(const CostModel& cost) {
  constexpr double least = 16u << 10;
  const double saved_ns_per_byte = cost.publish_ns_per_byte - cost.core.kernel_ns_per_byte;
  if (saved_ns_per_byte <= 0) return 0;
  const double bytes = std::max(least, (cost.core.kernel_call_ns + 2 * cost.latency_ns) / saved_ns_per_byte);
  return bytes < 1e12 ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace

std::uint64_t header_hash(const PlanHeader& header) {
  std::uint64_t hash = std::hash<std::string>{}(header.algorithm);
  for (const std::uint64_t word : {std::uint64_t{static_cast<std::uint8_t>(header.collective)}, std::uint64_t{static_cast<std::uint8_t>(header.protocol)},
                                   std::uint64_t{header.ranks}, std::uint64_t{header.root}, std::uint64_t{header.chunks_per_block},
                                   std::uint64_t{header.scratch_chunks}, std::uint64_t{header.depth}, std::uint64_t{header.piece_bytes},
                                   std::uint64_t{header.alignment_bytes}, header.wire ? static_cast<std::uint64_t>(*header.wire) + 1 : 0})
    hash = mix(hash, word);
  for (const std::uint32_t rank : header.order) hash = mix(hash, rank);
  for (const std::uint32_t ranks : header.groups) hash = mix(hash, ~std::uint64_t{ranks});
  return hash;
}

std::size_t PlanKeyHash::operator()(const PlanKey& key) const {
  const std::uint64_t small = static_cast<std::uint64_t>(key.collective) | static_cast<std::uint64_t>(key.type) << 8 |
                              static_cast<std::uint64_t>(key.op) << 16 |
                              static_cast<std::uint64_t>(key.symmetric) << 24 | static_cast<std::uint64_t>(key.in_place) << 25 |
                              (key.wire ? static_cast<std::uint64_t>(*key.wire) + 1 : 0) << 26 | static_cast<std::uint64_t>(key.root) << 32;
  return mix(mix(0, key.count), small);
}

PointerRule pointer_rule(const PlanKey& key, const PlanHeader& header, std::uint32_t rank, std::uint32_t ranks) {
  const BlockCounts blocks = block_counts(key.collective, ranks);
  const std::uint64_t block_bytes = key.count * size_of(key.type);
  PointerRule rule;
  rule.input_bytes = block_bytes * blocks.input;
  rule.output_bytes = block_bytes * blocks.output;
  rule.input_shift = input_is_block(key.collective) ? rank * block_bytes : 0;
  rule.output_shift = output_is_block(key.collective) ? rank * block_bytes : 0;
  rule.alignment_mask = size_of(key.type) - 1;
  rule.reads = has_input(header, rank);
  rule.writes = has_output(header, rank);
  const bool by_blocks = key.collective == Collective::all_to_all_v;  // its pointers are checked with its blocks: this rule accepts none
  rule.empty = !by_blocks && (key.count == 0 || key.collective == Collective::barrier);
  rule.out_of_place = !by_blocks && header.out_of_place;
  rule.in_place = !by_blocks && header.in_place;
  return rule;
}

Alias alias_of(const Call& call, std::uint32_t rank) {
  if (call.outputs != nullptr && call.input != nullptr) return call.outputs[rank] == call.input ? Alias::block : Alias::none;
  if (call.inputs != nullptr && call.output != nullptr) return call.inputs[rank] == call.output ? Alias::block : Alias::none;
  const std::uint64_t own = rank * call.count * size_of(call.type);
  const auto* const input = static_cast<const std::byte*>(call.input);
  const auto* const output = static_cast<const std::byte*>(call.output);
  if (input == nullptr || output == nullptr) return Alias::any;
  if (input_is_block(call.collective)) return input == output + own ? Alias::block : Alias::none;
  if (output_is_block(call.collective)) return output == input + own ? Alias::block : Alias::none;
  return input == output ? Alias::same : Alias::none;
}

Plan lower_for(const PlanSource& source, const Plan& plan) {
  const Reach reach = source.options.limits.reach;
  return reach == Reach::hosts ? lower(plan, source.hosts) : lower(plan, reach == Reach::messages);
}

PlanKey ordinary(PlanKey key) {
  key.symmetric = false;
  key.in_place &= key.collective == Collective::all_to_all;
  return key;
}

Result<Plan> PlanCache::plan(const PlanKey& key, Alias alias) const {
  if (const auto found = imported_.find(key.collective); found != imported_.end())
    return key.symmetric && found->second.direct && !source_.options.checked ? *found->second.direct : found->second.plan;
  Request request{key.collective, source_.ranks, key.count, key.type, key.op, key.root, alias};
  request.symmetric = key.symmetric;
  request.kernel_copies = source_.kernel_copies;
  request.wire = key.wire;
  request.in_place_too = key.in_place;
  auto planned = plan_call(*source_.topology, source_.cost, source_.options, request);
  return !planned || runs_as(key, *planned) == key ? std::move(planned) : plan(ordinary(key), alias);
}

/// Where peers can read the buffers and the plan doesn't, the call is one on ordinary memory, so that ranks whose buffers are ordinary make the same one.
PlanKey PlanCache::runs_as(const PlanKey& key, const Plan& plan) const {
  return source_.one_process || plan.header.protocol == Protocol::direct ? key : ordinary(key);
}

Result<const PreparedPlan*> PlanCache::find(const PlanKey& asked) {
  if (const PreparedPlan* prepared = repeated(asked)) return prepared;
  if (const auto found = prepared_.find(asked); found != prepared_.end()) return note(asked, found->second.get());
  const auto imported = imported_.find(asked.collective);
  if (imported != imported_.end() && source_.options.strict && !is_strict(imported->second.proved.value_or(Strictness::loose), asked.type))
    return Error{Errc::unsupported,
                 "plan '" + imported->second.plan.header.algorithm + "' stores results that are combined in part, which rounds " +
                     std::string(to_string(asked.type)) + "; this communicator is strict", 0, "call"};
  if (imported != imported_.end() && asked.wire)
    return Error{Errc::unsupported, "plan '" + imported->second.plan.header.algorithm + "' was brought along, and has no form for a wire type", 0, "call"};
  auto planned = plan(asked);
  if (!planned) return planned.error();
  const PlanKey key = runs_as(asked, *planned);
  if (const auto found = prepared_.find(key); found != prepared_.end()) {
    prepared_[asked] = found->second;
    return note(asked, found->second.get());
  }
  CompileRequest request;
  request.rank = source_.rank;
  request.count = key.count;
  request.type = key.type;
  request.op = key.op;
  request.layout = source_.layout;
  request.stream_above_bytes = source_.stream_above_bytes;
  request.slots_past_caches = source_.cost.slots_past_caches;
  request.cached_bytes = source_.cost.cache_bytes / 2;
  request.copies_beat_stores = source_.stores.copies_beat_stores;
  request.claims_pay = source_.stores.claims_pay;
  request.ring_bytes = source_.cost.ring_bytes;
  request.pulls_beat_copies = source_.stores.pulls_beat_copies;
  request.pulls_near = source_.stores.pulls_near();
  request.pulls_directly = source_.stores.goes_in_rows();
  request.plan_hash = imported != imported_.end() ? imported->second.hash : header_hash(planned->header);
  request.proved = imported == imported_.end() || imported->second.proved;
  request.reach = source_.options.limits.reach;
  request.checked = source_.options.checked;
  request.fetches = !key.symmetric && imported == imported_.end() && planned->header.protocol == Protocol::direct;
  request.direct = (key.symmetric && !request.checked) || request.fetches;
  request.agrees = key.symmetric && !source_.one_process;
  if (source_.kernel_copies && key.collective == Collective::all_to_all_v) request.rendezvous_from = rendezvous_bytes(source_.cost);
  auto executable = compile(imported != imported_.end() ? *planned : lower_for(source_, *planned), request);
  if (!executable) return executable.error();

  auto prepared = std::make_shared<PreparedPlan>();
  prepared->executable = std::move(*executable);
  prepared->identity = CallIdentity{key.collective, key.type, key.op, key.root, key.count, request.plan_hash, key.symmetric && !source_.one_process,
                                    key.in_place && (!source_.one_process || key.collective == Collective::all_to_all), key.wire};
  prepared->digest = prepared->identity.digest();
  prepared->rule = pointer_rule(key, planned->header, source_.rank, source_.ranks);
  prepared->work = 1 + static_cast<std::int64_t>((prepared->rule.input_bytes + prepared->rule.output_bytes) / 4096);
  planned->header.algorithm.copy(prepared->name.data(), prepared->name.size() - 1);
  prepared_[asked] = prepared;
  prepared_[key] = prepared;
  return note(asked, prepared.get());
}

const PreparedPlan* PlanCache::note(const PlanKey& key, const PreparedPlan* prepared) {
  recent_[place_of(key.collective, key.root)] = {key, prepared};
  return prepared;
}

void PlanCache::use(Plan plan, std::optional<Plan> direct, std::uint64_t hash, std::optional<Strictness> proved) {
  const Collective collective = plan.header.collective;
  imported_.insert_or_assign(collective, Imported{std::move(plan), std::move(direct), hash, proved});
  clear();
}

void PlanCache::clear() {
  prepared_.clear();
  recent_ = {};
}

void PlanCache::set_latency(double latency_ns) {
  rondo::set_latency(source_.cost, latency_ns, probed_source);
  clear();
}

}  // namespace rondo
