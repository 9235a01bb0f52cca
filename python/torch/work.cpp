#include "work.hpp"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>

namespace rondo_torch {

std::string Operation::describe() const {
  std::string text = c10::str(id);
  if (peer >= 0) text += c10::str(id.kind->type == c10d::OpType::SEND ? " to" : " from", " rank ", peer);
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
  if (copies.empty()) return;
  const at::AutoDispatchBelowAutograd below;
  for (const auto& [from, to] : copies) to.copy_(from);
}

std::optional<std::vector<at::Tensor>> shown(const Operation& operation) {
  if (!at::hasCallbacks()) return std::nullopt;
  return operation.inputs.empty() ? operation.outputs : operation.inputs;
}

void throw_unended(const Operation& operation, std::chrono::milliseconds timeout) {
  C10_THROW_ERROR(DistBackendError, c10::str("rondo: ", operation.describe(), " has not ended within a timeout of ", timeout.count(), " ms"));
}

void refuse_abort() { C10_THROW_ERROR(Error, "rondo: one operation can't be aborted; abort its process group"); }

RondoWork::RondoWork(Operation operation)
    : Work(operation.id.rank, operation.id.kind->type, at::hasCallbacks() ? operation.title() : nullptr, shown(operation)), operation_(std::move(operation)) {}

RondoWork::~RondoWork() {
  for (rondo_work* part : parts_) rondo_work_destroy(part);
}

void RondoWork::done() {
  operation_.copy_out();
  conclude(nullptr);
}

/// The library's reference to a work: tensors and room live until all parts have ended, whoever forgets the work.
struct RondoWork::Part {
  c10::intrusive_ptr<RondoWork> work;
  rondo_work* started;
};

void RondoWork::follow(Parts parts, std::shared_ptr<InFlight> in_flight) {
  parts_ = std::move(parts);
  left_ = parts_.size();
  begin(std::move(in_flight));
  for (rondo_work* part : parts_)
    (void)rondo_work_on_end(part, &RondoWork::ended, new Part{c10::intrusive_ptr<RondoWork>::reclaim_copy(this), part});
}

void RondoWork::begin(std::shared_ptr<InFlight> in_flight) {
  in_flight_ = std::move(in_flight);
  process_ = getpid();
  in_flight_->add();
}

namespace {

/// What a step throws, or nothing.
template <class Step>
std::exception_ptr failure_of(const Step& step) {
  try {
    step();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

/// Parts may end on different threads.
void RondoWork::ended(void* context) {
  const std::unique_ptr<Part> part(static_cast<Part*>(context));
  RondoWork& work = *part->work;
  std::exception_ptr failure = failure_of([&] {
    const rondo_status status = rondo_work_wait(part->started);  // it has ended: this only asks how
    if (status != RONDO_SUCCESS) throw_failure(status, work.describe());
  });
  {
    const std::lock_guard lock(work.future_mutex_);
    if (!work.failure_) work.failure_ = failure;
    if (--work.left_ != 0) return;
    failure = work.failure_;
  }
  work.end(failure);
}

void RondoWork::end(std::exception_ptr failure) {
  if (!failure) failure = failure_of([&] { operation_.copy_out(); });
  conclude(failure);
  in_flight_->remove();
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
  if (isCompleted()) return Work::wait(kNoTimeout);
  if (getpid() != process_)  // nobody here goes on with it
    C10_THROW_ERROR(DistBackendError, c10::str("rondo: ", describe(), " was begun before this process was forked; only the one that began it can wait for it"));
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  // Helps the library along. Then somebody, here or on the progress thread, has been told or is being told.
  for (rondo_work* part : parts_) {
    if (timeout == kNoTimeout) {
      (void)rondo_work_wait(part);
      continue;
    }
    const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
    const rondo_status status = rondo_work_wait_for(part, std::max(left.count(), 0.0));
    if (status == RONDO_DEADLINE_EXCEEDED && rondo_work_done(part) == 0) throw_unended(operation_, timeout);
  }
  if (parts_.empty() && timeout != kNoTimeout) {  // somebody else's
    std::unique_lock lock(mutex_);
    if (!cv_.wait_for(lock, timeout, [this] { return completed_; })) throw_unended(operation_, timeout);
  }
  return Work::wait(kNoTimeout);
}

void RondoWork::abort() { refuse_abort(); }

int RondoWork::sourceRank() const {
  std::uint32_t source = RONDO_NO_RANK;
  const bool known = !parts_.empty() && rondo_work_source(parts_.front(), &source) == RONDO_SUCCESS && source != RONDO_NO_RANK;
  TORCH_CHECK(known, "rondo: sourceRank is known of receives that have ended");
  return static_cast<int>(source);
}

}  // namespace rondo_torch
