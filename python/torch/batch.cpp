#include "batch.hpp"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "work.hpp"

namespace rondo_torch {

void Batch::begin() {
  const std::lock_guard lock(mutex_);
  content_ = {};
  opener_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void Batch::add(const DeviceMessage& message) {
  const std::lock_guard lock(mutex_);
  content_.messages.push_back(message);
}

void Batch::add(WorkPointer work) {
  const std::lock_guard lock(mutex_);
  content_.works.push_back(std::move(work));
}

Batch::Content Batch::end() {
  TORCH_CHECK_VALUE(is_open(), "rondo: endCoalescing() without a startCoalescing() of this thread");
  const std::lock_guard lock(mutex_);
  opener_.store({}, std::memory_order_relaxed);
  return std::exchange(content_, {});
}

CoalescedWork::CoalescedWork(int rank, std::vector<WorkPointer> parts) : Work(rank, c10d::OpType::COALESCED), parts_(std::move(parts)) {}

bool CoalescedWork::isCompleted() {
  return std::all_of(parts_.begin(), parts_.end(), [](const WorkPointer& part) { return part->isCompleted(); });
}

bool CoalescedWork::isSuccess() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const WorkPointer& part) { return part->isSuccess(); });
}

std::exception_ptr CoalescedWork::exception() const {
  for (const WorkPointer& part : parts_)
    if (const std::exception_ptr failure = part->exception()) return failure;
  return nullptr;
}

bool CoalescedWork::wait(std::chrono::milliseconds timeout) {
  const auto begin = std::chrono::steady_clock::now();
  for (const WorkPointer& part : parts_) {
    if (timeout == kNoTimeout) {
      part->wait(kNoTimeout);
      continue;
    }
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    part->wait(std::max(timeout - spent, std::chrono::milliseconds(1)));  // 0 is kNoTimeout
  }
  return true;
}

void CoalescedWork::abort() { refuse_abort(); }

std::vector<at::Tensor> CoalescedWork::result() {
  std::vector<at::Tensor> all;
  for (const WorkPointer& part : parts_)
    for (const at::Tensor& tensor : part->result()) all.push_back(tensor);
  return all;
}

c10::intrusive_ptr<c10::ivalue::Future> CoalescedWork::getFuture() {
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
  for (const WorkPointer& part : parts_) futures.push_back(part->getFuture());
  return c10::collectAll(futures)->then(
      [tensors = result()](c10::ivalue::Future& ended) {
        (void)ended.value();  // throws what a part has failed of
        return c10::IValue(tensors);
      },
      c10::ListType::create(c10::TensorType::get()));
}

}  // namespace rondo_torch
