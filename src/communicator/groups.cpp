#include "communicator/groups.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

constexpr std::int64_t turn_ns = 100'000;  // of one communicator, before the next one's calls are looked after

bool all_ended(const std::vector<std::shared_ptr<Operation>>& operations) {
  return std::all_of(operations.begin(), operations.end(), [](const auto& operation) { return operation->done.load(std::memory_order_acquire); });
}

}  // namespace

constinit thread_local std::uint32_t ThreadGroup::anything_open = 0;

ThreadGroup& ThreadGroup::of_this_thread() {
  thread_local ThreadGroup group;
  return group;
}

void ThreadGroup::begin(Owner communicator) {
  if (Part* const part = find(communicator.get())) {
    ++part->depth;
    return;
  }
  parts_.push_back({std::move(communicator), 1, {}});
  anything_open = static_cast<std::uint32_t>(parts_.size());
}

ThreadGroup::Part* ThreadGroup::find(const Communicator::Impl* communicator) {
  const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.communicator.get() == communicator; });
  return found == parts_.end() ? nullptr : &*found;
}

std::vector<ThreadGroup::Part> ThreadGroup::take_all_if_ended() {
  if (std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.depth != 0; })) return {};
  anything_open = 0;
  return std::exchange(parts_, {});
}

std::vector<ThreadGroup::Part> ThreadGroup::end(Part& part) {
  --part.depth;
  return take_all_if_ended();
}

std::vector<ThreadGroup::Part> ThreadGroup::forget(const Communicator::Impl* communicator) {
  Part* const part = find(communicator);
  if (part == nullptr) return {};
  std::vector<Part> to_run;
  to_run.push_back(std::move(*part));
  parts_.erase(parts_.begin() + (part - parts_.data()));
  anything_open = static_cast<std::uint32_t>(parts_.size());
  for (Part& other : take_all_if_ended()) to_run.push_back(std::move(other));
  return to_run;
}

bool Communicator::Impl::in_group() const { return ThreadGroup::collects(this); }

void Communicator::Impl::group_begin() { ThreadGroup::of_this_thread().begin(shared_from_this()); }

Result<void> Communicator::Impl::group_end() {
  ThreadGroup& group = ThreadGroup::of_this_thread();
  ThreadGroup::Part* const part = group.find(this);
  if (part == nullptr || part->depth == 0)
    return Error{Errc::invalid_argument, "group_end without group_begin on this thread and communicator", 0, "group"};
  const std::vector<ThreadGroup::Part> ended = group.end(*part);
  // Other ranks may have collected them in another order, so no communicator's calls wait for another one's.
  for (bool waiting = ended.size() > 1; waiting;) {
    waiting = false;
    for (const ThreadGroup::Part& each : ended) {
      if (all_ended(each.operations)) continue;
      waiting = true;
      (void)each.communicator->wait(Work::State{nullptr, each.operations, std::nullopt}, now_ns() + turn_ns);  // asked for what came of it below
    }
  }
  Result<void> first;
  for (const ThreadGroup::Part& each : ended)
    if (auto done = each.communicator->wait(Work::State{nullptr, each.operations, std::nullopt}, 0); !done && first) first = done;
  return first;
}

/// The communicator is destroyed with a group open on this thread: its calls run as started ones do.
void Communicator::Impl::leave_group() {
  if (!in_group()) return;
  for (const ThreadGroup::Part& part : ThreadGroup::of_this_thread().forget(this)) part.communicator->run_in_background();
}

void Communicator::Impl::run_in_background() {
  if (pending_.load(std::memory_order_relaxed) == 0) return;
  (void)need_progress_thread();  // without one nobody runs them, and who destroys the communicator aborts them
  wake_progress();
}

}  // namespace rondo
