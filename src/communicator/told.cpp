#include "communicator/told.hpp"

#include <functional>
#include <string>

#include "communicator/impl.hpp"

namespace rondo {
namespace {

constexpr unsigned wait_call_shift = 32, wait_lane_shift = 16;         // of StatusLine::waits_for
constexpr unsigned own_lane_shift = 48, own_step_shift = 32;           // of StatusLine::waits_at

}  // namespace

SeenRecord read_record(const CallRecord& record) {
  SeenRecord seen;
  // pairs with Run::enter(): the writer zeroes sequence, releases the fields, then sequence; so a field of another
  // call shows in the second look at sequence
  const std::uint64_t before = record.sequence.load(std::memory_order_acquire);
  const std::uint64_t count = record.count.load(std::memory_order_acquire);
  const std::uint64_t plan_hash = record.plan_hash.load(std::memory_order_acquire);
  const std::uint64_t what = record.what.load(std::memory_order_acquire);
  seen.identity = CallIdentity::of_words(count, plan_hash, what, record.root.load(std::memory_order_acquire));
  seen.digest = record.digest.load(std::memory_order_acquire);
  if (record.sequence.load(std::memory_order_relaxed) == before) seen.sequence = before;
  return seen;
}

std::optional<LongWait> read_long_wait(const StatusLine& status, std::uint64_t call) {
  const std::uint64_t waits_for = status.waits_for.load(std::memory_order_relaxed);
  const std::uint64_t waits_at = status.waits_at.load(std::memory_order_relaxed);
  if ((waits_for & 0xffff) == 0 || waits_for >> wait_call_shift != (call & 0xffffffff)) return std::nullopt;
  return LongWait{static_cast<std::uint32_t>(waits_for & 0xffff) - 1, static_cast<std::uint32_t>(waits_for >> wait_lane_shift & 0xffff), waits_at & 0xffffffff,
                  static_cast<std::uint32_t>(waits_at >> own_lane_shift), static_cast<std::uint32_t>(waits_at >> own_step_shift & 0xffff)};
}

void write_long_wait(StatusLine& status, std::uint64_t call, const LongWait& wait) {
  status.waits_at.store(std::uint64_t{wait.own_lane} << own_lane_shift | std::uint64_t{wait.own_step} << own_step_shift | (wait.signals & 0xffffffff),
                        std::memory_order_relaxed);
  status.waits_for.store(call << wait_call_shift | std::uint64_t{wait.lane} << wait_lane_shift | (wait.member + 1), std::memory_order_relaxed);
}

void introduce(const CommunicatorParts& parts, IdentityWords& identity) {
  const std::string family = parts.token.substr(0, parts.token.find('/'));
  const std::uint64_t first = parts.family_ranks.empty() ? 0 : parts.family_ranks.front();
  identity.rank.store(std::uint64_t{parts.size} << 32 | parts.rank, std::memory_order_relaxed);
  identity.family.store(std::hash<std::string>{}(family), std::memory_order_relaxed);
  identity.number.store(first << 48 | parts.epoch, std::memory_order_relaxed);
  identity.lanes.store(parts.layout.lanes, std::memory_order_relaxed);
  identity.magic.store(identity_magic, std::memory_order_release);  // pairs with inspect()
}

}  // namespace rondo
