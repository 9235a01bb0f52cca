// Memory that peers map: giving it out, and knowing it again in the arguments of a call (docs/design/0010-symmetric-memory.md).
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/kernel_copy.hpp"
#include "base/log.hpp"
#include "communicator/check.hpp"
#include "communicator/impl.hpp"
#include "communicator/memory_left.hpp"
#include "executor/thread_checker.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 47;  ///< what a process can address
const char* const in_freed_memory = " lies in symmetric memory that was freed";
const char* const behind_its_memory = " ends behind the symmetric memory it begins in";

/// Nothing that the kernel would give and then end a process for. Short ones aren't worth the look.
std::optional<Error> beyond_memory(std::uint64_t bytes) {
  constexpr std::uint64_t worth_a_look = std::uint64_t{64} << 20;
  if (bytes < worth_a_look) return std::nullopt;
  const MemoryLeft left = memory_left();
  if (left.bytes == 0 || bytes <= left.bytes) return std::nullopt;
  return Error{Errc::out_of_resources, "no " + std::to_string(bytes) + " bytes of memory: " + std::to_string(left.bytes) + " " + left.bound, 0, "allocate"};
}

/// For ranks that can't map one another's memory.
Result<std::shared_ptr<void>> allocate_ordinary(std::uint64_t bytes) {
  void* const memory = bytes > most_bytes ? nullptr : std::aligned_alloc(symmetric_page, whole_pages(bytes));
  if (memory == nullptr) return Error{Errc::out_of_resources, "no " + std::to_string(bytes) + " bytes of memory", 0, "allocate"};
  std::memset(memory, 0, whole_pages(bytes));
  return std::shared_ptr<void>(memory, [](void* freed) { std::free(freed); });
}

}  // namespace

Result<std::shared_ptr<void>> Communicator::Impl::allocate(std::uint64_t bytes) {
  if (born_in_ != fork_generation()) return forked_error();
  if (broken_.load(std::memory_order_acquire)) return broken_error();
  if (auto error = beyond_memory(bytes)) return *error;
  const std::shared_ptr<Family> family = parts_.family;
  if (family->symmetric().bytes() == 0) return allocate_ordinary(bytes);
  auto memory = family->symmetric().take(bytes);
  if (!memory) return memory.error();
  // Shared: the memory outlives the communicator, and keeps the segment that it is in.
  return std::shared_ptr<void>(*memory, [family, born_in = born_in_](void* freed) {
    if (born_in == fork_generation()) family->symmetric().give_back(static_cast<std::byte*>(freed));
  });
}

/// What says to the peers where this rank's memory lies.
std::uint64_t Communicator::Impl::home_word(const void* memory) const {
  const Homes& homes = main_->context.homes;
  return homes.none() ? no_buffer : homes.word_of(rank(), static_cast<const std::byte*>(memory));
}

Result<std::vector<void*>> Communicator::Impl::homes_of(const std::vector<std::uint64_t>& words, std::uint64_t bytes) const {
  std::vector<void*> places;
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    places.push_back(main_->context.homes.place_of(peer, words[peer], bytes));
    if (places.back() == nullptr)
      return Error{Errc::unsupported, "the memory of rank " + std::to_string(peer) +
                                          " can't be mapped; accepted: what allocate() gave, between ranks that share memory", 0,
                   "rank " + std::to_string(rank())};
  }
  return places;
}

/// An operation that has failed ends here for its caller, who may free the buffers, or go on with them: peers that read them, or write into them, must have
/// stopped. Each does so soon, since the communicator is broken; but for a process that has died, or that is stopped and might go on whenever it likes. To that
/// one the pages of symmetric memory are left. Where the kernel writes for it that can't be, but it looks round before each copy: what counts is that it is
/// stopped behind one.
void Communicator::Impl::leave_buffers(Channel& channel, const Operation& operation) {
  constexpr std::int64_t patience_ns = 1'000'000'000;
  Context& context = channel.context;
  const Executable& executable = operation.run.executable();
  if (!operation.run.entered() || !executable.direct) return;
  tell_release(context.lane(context.rank(), 0));
  // pairs with the peers' loop below: this rank touches nothing any more
  context.status(context.rank()).reads.store(0, std::memory_order_release);
  const std::uint64_t call = operation.run.call();
  const std::int64_t deadline = now_ns() + patience_ns;
  std::optional<std::uint32_t> late;
  for (std::uint32_t member = 0; member < context.size(); ++member) {
    if (member == context.rank()) continue;
    const std::uint32_t peer = context.member(member);
    // pairs with put() and tell_buffers(): who doesn't find this rank broken has said this before
    const auto touches = [&] { return context.status(member).reads.load(std::memory_order_seq_cst) == call && !parts_.transport->gone(peer); };
    for (bool warned = false; touches(); sched_yield()) {
      if (now_ns() < deadline || context.homes.anywhere()) continue;
      if (!executable.fetches) {
        late = peer;
        break;
      }
      const auto thread = static_cast<std::int64_t>(context.lane(member, 0).writer.load(std::memory_order_relaxed));
      if (stopped_behind_copy(parts_.processes[peer], thread)) break;
      if (!std::exchange(warned, true))
        log_warn(who(peer) + condition(peer) + " may still write into a buffer of " + title(operation) + ", which waits for that to end");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    tell_acquire(context.lane(member, 0));
  }
  if (!late) return;
  log_warn(who(*late) + " is still in a call that failed here, and may write into its output once it goes on; this process goes on with a copy of that memory");
  parts_.family->symmetric().leave(static_cast<std::byte*>(operation.task.binding.output), executable.output_bytes);
}

/// Calls that move nothing, or whose arguments nobody has looked at yet and make no sense, have no buffers to speak of.
bool Communicator::Impl::has_buffers(const PlanKey& key) const {
  return key.count != 0 && key.collective != Collective::barrier && key.collective != Collective::all_to_all_v &&
         static_cast<std::size_t>(key.collective) < collective_count && static_cast<std::size_t>(key.type) < data_type_count && key.root < size();
}

/// Where a call's buffers lie; those that the rank hasn't are inside.
struct Communicator::Impl::Places {
  SymmetricRoom::Place input = SymmetricRoom::Place::inside;
  SymmetricRoom::Place output = SymmetricRoom::Place::inside;
};

Communicator::Impl::Places Communicator::Impl::places_of(const Task& task) {
  const PlanKey& key = task.key;
  const BlockCounts blocks = block_counts(key.collective, size());
  const SymmetricRoom& room = parts_.family->symmetric();
  const std::uint64_t block_bytes = key.count * size_of(key.type);
  Places places;
  if (has_input(key.collective, key.root, rank())) places.input = room.place_of(task.binding.input, block_bytes * blocks.input, known_input_);
  if (has_output(key.collective, key.root, rank())) places.output = room.place_of(task.binding.output, block_bytes * blocks.output, known_output_);
  return places;
}

/// Puts into the key whether peers can read all that the call reads and writes here. all_to_all in place counts as a call that they can't: no
/// plan reads what another rank overwrites in turn. A list's tensors, or blocks, may lie anywhere. False: a buffer lies where none can, as wrong_memory() says.
bool Communicator::Impl::note_memory(Task& task) {
  PlanKey& key = task.key;
  key.symmetric = false;
  key.in_place = is_in_place_for_all(key, task.binding.input, task.binding.output);
  if (!has_buffers(key) || task.binding.segments != nullptr) return true;
  if (main_->cache.source().one_process) {
    // Nobody has asked for it, so ranks need not agree about being in place: only plans that serve both will do.
    key.symmetric = !key.in_place;
    key.in_place |= key.collective == Collective::all_reduce;
    return true;
  }
  if (task.binding.apart != nullptr) return true;
  const Places places = places_of(task);
  for (const SymmetricRoom::Place place : {places.input, places.output})
    if (place != SymmetricRoom::Place::inside && place != SymmetricRoom::Place::elsewhere) return false;
  const bool in_place = task.binding.input == task.binding.output;
  key.symmetric = places.input == SymmetricRoom::Place::inside && places.output == SymmetricRoom::Place::inside && !key.in_place;
  key.in_place |= key.symmetric && in_place && key.collective == Collective::all_reduce;
  return true;
}

/// Whether note_memory() would say of a call what it said of the one that made `recent`. False doesn't mean that it wouldn't.
bool Communicator::Impl::lies_alike(const PlanCache::Recent& recent, const Call& call) const {
  const PlanKey& key = recent.key;
  const PointerRule& rule = recent.prepared->rule;
  if (main_->cache.source().one_process) return key.symmetric && key.in_place == (key.collective == Collective::all_reduce);
  const SymmetricRoom& room = parts_.family->symmetric();
  if (!key.symmetric) return !key.in_place && (!rule.reads || !room.holds(call.input)) && (!rule.writes || !room.holds(call.output));
  return key.in_place == (key.collective == Collective::all_reduce && call.input == call.output) &&
         (!rule.reads || room.is_known(call.input, rule.input_bytes, known_input_)) &&
         (!rule.writes || room.is_known(call.output, rule.output_bytes, known_output_));
}

/// What is wrong with memory that no key speaks of: blocks, lists, messages. Needs no token.
std::optional<std::string> Communicator::Impl::fault_of_memory(const void* buffer, std::uint64_t bytes) const {
  const SymmetricRoom& room = parts_.family->symmetric();
  if (bytes == 0 || !room.used() || !room.holds(buffer)) return std::nullopt;
  SymmetricRoom::Known nothing;
  const SymmetricRoom::Place place = room.place_of(buffer, bytes, nothing);
  if (place == SymmetricRoom::Place::freed) return in_freed_memory;
  if (place == SymmetricRoom::Place::too_long) return behind_its_memory;
  return std::nullopt;
}

/// Of a call that note_memory() refused.
Error Communicator::Impl::wrong_memory(const Task& task) {
  const Places places = places_of(task);
  const bool input = places.input == SymmetricRoom::Place::freed || places.input == SymmetricRoom::Place::too_long;
  const std::string name = input ? "input" : "output";
  if ((input ? places.input : places.output) == SymmetricRoom::Place::freed) return wrong_call(name + in_freed_memory);
  return wrong_call(name + behind_its_memory + ", with count " + std::to_string(task.key.count));
}

}  // namespace rondo
