#include "group.hpp"

#include <thread>
#include <utility>

#include "run.hpp"

namespace rondo::nccl {
namespace {

/// All of them, each on a thread of its own if there are several; the first failure.
Result<void> run_side_by_side(std::vector<std::function<Result<void>()>> works) {
  if (works.size() == 1) return works.front()();
  std::vector<Result<void>> results(works.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < works.size(); ++k) threads.emplace_back([&, k] { results[k] = works[k](); });
  for (std::thread& thread : threads) thread.join();
  for (Result<void>& result : results)
    if (!result) return result;
  return {};
}

}  // namespace

Group& Group::of_this_thread() {
  thread_local Group group;
  return group;
}

ncclResult_t Group::end() {
  if (depth_ == 0) return failed(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart on this thread");
  if (--depth_ != 0) return ncclSuccess;
  const auto works = std::exchange(works_, {});
  const auto calls = std::exchange(calls_, {});
  if (const auto refused = std::exchange(refused_, ncclSuccess); refused != ncclSuccess) return refused;  // its words are the last ones
  if (!works.empty())
    if (auto made = run_side_by_side(works); !made) return failed(made.error());
  return calls.empty() ? ncclSuccess : outcome(run_all(calls));
}

ncclResult_t Group::make(std::function<Result<void>()> work) {
  if (depth_ == 0) return outcome(work());
  works_.push_back(std::move(work));
  return ncclSuccess;
}

ncclResult_t Group::enqueue(Enqueued call) {
  if (depth_ == 0) return outcome(run_all({std::move(call)}));
  calls_.push_back(std::move(call));
  return ncclSuccess;
}

ncclResult_t Group::refuse(ncclResult_t result, std::string words) {
  if (depth_ != 0 && refused_ == ncclSuccess) refused_ = result;
  return failed(result, std::move(words));
}

}  // namespace rondo::nccl

using rondo::nccl::Group;

ncclResult_t ncclGroupStart() {
  Group::of_this_thread().begin();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return Group::of_this_thread().end(); }
