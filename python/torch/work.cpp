#include "work.hpp"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

namespace rondo_torch {

std::string Operation::describe() const {
  const char* name = title;
  for (const char* at = title; *at != '\0'; ++at)
    if (*at == ':') name = at + 1;
  std::string text = name;
  if (sequence != 0) text += " #" + std::to_string(sequence);
  text += " on rank " + std::to_string(rank);
  const auto& tensors = inputs.empty() ? outputs : inputs;
  if (tensors.empty()) return text;
  text += c10::str(" of ", tensors.front().sizes(), " ", tensors.front().scalar_type());
  return tensors.size() == 1 ? text : text + " and " + std::to_string(tensors.size() - 1) + " more";
}

at::Tensor Operation::given(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  const at::AutoDispatchBelowAutograd below;
  room.push_back(tensor.contiguous());
  return room.back();
}

at::Tensor Operation::received(const at::Tensor& tensor, bool filled) {
  if (tensor.is_contiguous()) return tensor;
  const at::AutoDispatchBelowAutograd below;
  copies.emplace_back(filled ? tensor.contiguous() : at::empty(tensor.sizes(), tensor.options()), tensor);
  return copies.back().first;
}

void Operation::copy_out() const {
  const at::AutoDispatchBelowAutograd below;
  for (const auto& [from, to] : copies) to.copy_(from);
}

RondoWork::RondoWork(Operation operation)
    : Work(operation.rank, operation.type, operation.title, operation.inputs), operation_(std::move(operation)) {}

RondoWork::~RondoWork() { rondo_work_destroy(started_); }

void RondoWork::done() {
  operation_.copy_out();
  conclude(nullptr);
}

void RondoWork::follow(rondo_work* started, std::shared_ptr<InFlight> in_flight) {
  started_ = started;
  in_flight_ = std::move(in_flight);
  in_flight_->add();
  // The library's reference: tensors and room live until the operation has ended, whoever forgets the work.
  auto* context = new c10::intrusive_ptr<RondoWork>(c10::intrusive_ptr<RondoWork>::reclaim_copy(this));
  (void)rondo_work_on_end(started, &RondoWork::ended, context);
}

void RondoWork::ended(void* context) {
  const std::unique_ptr<c10::intrusive_ptr<RondoWork>> held(static_cast<c10::intrusive_ptr<RondoWork>*>(context));
  RondoWork& work = **held;
  std::exception_ptr failure;
  try {
    const rondo_status status = rondo_work_wait(work.started_);  // it has ended: this only asks how
    if (status != RONDO_SUCCESS) throw_failure(status, work.describe());
    work.operation_.copy_out();
  } catch (...) {
    failure = std::current_exception();
  }
  work.conclude(failure);
  work.in_flight_->remove();
}

/// Tells everybody.
void RondoWork::conclude(std::exception_ptr exception) {
  finish(exception);
  c10::intrusive_ptr<c10::ivalue::Future> asked;
  {
    const std::lock_guard lock(future_mutex_);
    concluded_ = true;
    asked = future_;
  }
  if (!asked) return;
  if (exception) asked->setError(exception);
  else asked->markCompleted(c10::IValue(operation_.outputs));
}

c10::intrusive_ptr<c10::ivalue::Future> RondoWork::getFuture() {
  const std::lock_guard lock(future_mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  if (!concluded_) return future_;
  // nobody else has it yet, so that nothing is called back from here
  if (const auto failure = exception()) future_->setError(failure);
  else future_->markCompleted(c10::IValue(operation_.outputs));
  return future_;
}

bool RondoWork::wait(std::chrono::milliseconds timeout) {
  if (!isCompleted() && started_ != nullptr) {
    // Helps the library along. Then somebody, here or on the progress thread, has been told or is being told.
    if (timeout == kNoTimeout) {
      (void)rondo_work_wait(started_);
    } else {
      const rondo_status status = rondo_work_wait_for(started_, std::chrono::duration<double>(timeout).count());
      if (status == RONDO_DEADLINE_EXCEEDED && rondo_work_done(started_) == 0)
        C10_THROW_ERROR(DistBackendError, c10::str("rondo: ", describe(), " has not ended within ", timeout.count(), " ms"));
    }
  }
  return Work::wait(kNoTimeout);
}

void RondoWork::abort() { TORCH_CHECK(false, "rondo: one operation can't be aborted; abort its process group"); }

int RondoWork::sourceRank() const {
  std::uint32_t source = RONDO_NO_RANK;
  const bool known = started_ != nullptr && rondo_work_source(started_, &source) == RONDO_SUCCESS && source != RONDO_NO_RANK;
  TORCH_CHECK(known, "rondo: sourceRank is known of receives that have ended");
  return static_cast<int>(source);
}

}  // namespace rondo_torch
