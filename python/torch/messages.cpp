// Messages between two ranks, and barriers.
#include <ATen/DeviceAccelerator.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <memory>

#include "backend-inl.hpp"

namespace rondo_torch {
namespace {

using Clock = std::chrono::steady_clock;

void check_peer(const CallId& id, int peer, int size, const char* what) {
  TORCH_CHECK_VALUE(peer >= 0 && peer < size && peer != id.rank, "rondo: ", id, ": ", what, " rank ", peer, "; accepted: another one of ", size, " ranks");
}

std::uint64_t count_of(const at::Tensor& tensor) { return static_cast<std::uint64_t>(tensor.numel() * moved(tensor.scalar_type()).per_element); }

/// A started receive or send of one byte.
struct Sign {
  std::uint8_t byte = 0;
  rondo_work* work = nullptr;
  ~Sign() { rondo_work_destroy(work); }
};

bool came(const Sign& sign, Clock::time_point deadline) {
  const double left = std::chrono::duration<double>(deadline - Clock::now()).count();
  return rondo_work_wait_for(sign.work, std::max(left, 0.0)) == RONDO_SUCCESS;
}

/// Whose streams a barrier is for, if its caller names a device, or the group has one. Torch passes on the numbers that its caller gives, but not the device.
std::optional<c10::Device> device_of(const c10d::BarrierOptions& options, std::optional<c10::Device> of_group) {
  if (options.device) of_group = options.device;
  const auto accelerator = at::getAccelerator();
  if (!options.device_ids.empty() && accelerator) of_group = c10::Device(*accelerator, static_cast<c10::DeviceIndex>(options.device_ids.front()));
  return of_group && of_group->has_index() && !of_group->is_cpu() ? of_group : std::nullopt;
}

}  // namespace

/// Neither says whether it is waited for at once, so both are started, and whoever waits runs them.
WorkPointer Backend::send(Tensors& tensors, int to, int tag) {
  const CallId id = next(kinds::send);
  const at::Tensor& tensor = single(id, tensors, "tensors");
  if (!tensor.is_cpu()) return exchange_one({id, tensor, true, to});
  check_peer(id, to, size_, "to");
  Operation operation = this->operation(id, {tensor}, {}, true);
  operation.peer = to;
  const at::Tensor given = operation.given(tensor);
  const rondo_type type = moved(given.scalar_type()).type;
  const auto peer = static_cast<std::uint32_t>(to);
  return start(std::move(operation), [&](rondo_communicator* c, rondo_work** started) {
    return rondo_start_send_tagged(c, given.data_ptr(), count_of(given), type, peer, static_cast<std::uint32_t>(tag), started);
  });
}

WorkPointer Backend::recv(Tensors& tensors, int from, int tag) {
  const CallId id = next(kinds::recv);
  const at::Tensor& tensor = single(id, tensors, "tensors");
  if (!tensor.is_cpu()) return exchange_one({id, tensor, false, from});
  check_peer(id, from, size_, "from");
  Operation operation = this->operation(id, {}, {tensor}, true);
  operation.peer = from;
  const at::Tensor room = operation.received(tensor);
  const rondo_type type = moved(room.scalar_type()).type;
  const auto peer = static_cast<std::uint32_t>(from);
  return start(std::move(operation), [&](rondo_communicator* c, rondo_work** started) {
    return rondo_start_recv_tagged(c, room.data_ptr(), count_of(room), type, peer, static_cast<std::uint32_t>(tag), started);
  });
}

WorkPointer Backend::recvAnysource(Tensors& tensors, int tag) {
  const CallId id = next(kinds::recv_any_source);
  const at::Tensor& tensor = single(id, tensors, "tensors");
  if (!tensor.is_cpu())
    C10_THROW_ERROR(NotImplementedError,
                    c10::str("rondo: ", id, " isn't served on ", tensor.device(), "; accepted: tensors on the cpu, or a rank to receive from"));
  Operation operation = this->operation(id, {}, {tensor}, true);
  const at::Tensor room = operation.received(tensor);
  const rondo_type type = moved(room.scalar_type()).type;
  return start(std::move(operation), [&](rondo_communicator* c, rondo_work** started) {
    return rondo_start_recv_any_tagged(c, room.data_ptr(), count_of(room), type, static_cast<std::uint32_t>(tag), started);
  });
}

WorkPointer Backend::exchange_one(const DeviceMessage& message) {
  const bool batched = batch_.is_open();
  try {
    device_->check(message.id, message.tensor.device());
    if (!batched || message.peer != rank_) check_peer(message.id, message.peer, size_, message.sends ? "to" : "from");
  } catch (...) {
    if (batched) (void)batch_.end();  // torch doesn't
    throw;
  }
  if (batched) {
    batch_.add(message);
    return {};
  }
  const auto peer = static_cast<std::uint32_t>(message.peer);
  Pair* pair = pairs_.find(peer);
  if (pair == nullptr && !device_->has_begun()) pair = &pairs_.make(group_, peer, device_->accepted());
  return exchange(message.id, message, pair);
}

WorkPointer Backend::exchange(const CallId& id, at::ArrayRef<DeviceMessage> messages, Pair* pair) {
  Operation operation = this->operation(id);
  for (const DeviceMessage& message : messages) (message.sends ? operation.inputs : operation.outputs).push_back(message.tensor);
  check_devices(id, operation.inputs, operation.outputs);
  if (c10d::isP2POp(id.kind->type)) operation.peer = messages.front().peer;
  const c10::Device device = messages.front().tensor.device();
  operation.on = pair != nullptr ? pair->device->begin(id, device, true, pair->group) : device_->begin(id, device, true, group_);
  std::vector<rondo_cuda_message> ends;
  for (const DeviceMessage& message : messages) {
    const at::Tensor memory = message.sends ? operation.given(message.tensor) : operation.received(message.tensor);
    const auto peer = static_cast<std::uint32_t>(pair == nullptr ? message.peer : message.peer < rank_ ? 0 : 1);
    ends.push_back({message.sends, memory.data_ptr(), count_of(memory), moved(memory.scalar_type()).type, peer, operation.on->stream().native_handle()});
  }
  return run_on_device(std::move(operation), group_.timeout(),
                       [&](rondo_cuda_communicator* communicator, void*) { return rondo_cuda_exchange(communicator, ends.data(), ends.size()); });
}

WorkPointer Backend::endCoalescing() {
  Batch::Content batch = batch_.end();
  if (!batch.messages.empty()) batch.works.push_back(exchange({&kinds::messages, rank_, 0}, batch.messages));
  if (batch.works.size() == 1) return batch.works.front();
  return c10::make_intrusive<CoalescedWork>(rank_, std::move(batch.works));
}

WorkPointer Backend::barrier(const c10d::BarrierOptions& options) {
  rondo_call call{};
  call.size = sizeof call;
  call.collective = RONDO_BARRIER;
  Operation operation = this->operation(next(kinds::barrier));
  if (const auto device = device_of(options, getBoundDeviceId()); device && device->type() == device_->accepted() && DeviceGroup::is_built())
    operation.on = device_->begin(operation.id, *device, options.asyncOp, group_);
  return run(std::move(operation), call, timing(options));
}

/// Rank 0 hears of each rank, and answers when it has heard of all. Ranks that don't come are named, in torch's own words, which programs look for; then
/// the group is over.
void Backend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_for_all) {
  rondo_communicator* communicator = group_.communicator(next(kinds::barrier));
  const auto timeout = options.timeout == c10d::kUnsetTimeout ? group_.timeout() : options.timeout;
  const Clock::time_point deadline = Clock::now() + timeout;
  const auto checked = [&](rondo_status status) {
    if (status != RONDO_SUCCESS) throw_failure(status, "monitored_barrier on rank " + std::to_string(rank_));
  };
  if (rank_ != 0) {
    const std::uint8_t here = 1;
    checked(rondo_send(communicator, &here, 1, RONDO_U8, 0));
    auto answer = std::make_unique<Sign>();
    checked(rondo_start_recv(communicator, &answer->byte, 1, RONDO_U8, 0, &answer->work));
    if (came(*answer, deadline)) return;
    std::string reason = c10::str("it did not answer within ", timeout.count(), " ms");
    if (rondo_work_done(answer->work) != 0) {
      if (rondo_work_wait(answer->work) == RONDO_SUCCESS) return;
      reason = rondo_last_error();
    } else {
      (void)rondo_abort(communicator);  // which ends the receive
      (void)rondo_work_wait(answer->work);
    }
    C10_THROW_ERROR(DistBackendError, c10::str("rondo: Rank ", rank_, " successfully reached monitoredBarrier, but received errors while waiting for send/recv "
                                                "from rank 0: ", reason));
  }
  std::vector<std::unique_ptr<Sign>> signs(ranks());
  for (std::uint32_t rank = 1; rank < ranks(); ++rank) {
    signs[rank] = std::make_unique<Sign>();
    checked(rondo_start_recv(communicator, &signs[rank]->byte, 1, RONDO_U8, rank, &signs[rank]->work));
    if (rondo_work_done(signs[rank]->work) != 0) checked(rondo_work_wait(signs[rank]->work));  // the communicator is broken, and not that rank late
  }
  std::string missing;
  for (std::uint32_t rank = 1; rank < ranks() && (missing.empty() || wait_for_all); ++rank)
    if (!came(*signs[rank], deadline)) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  if (missing.empty()) {
    for (std::uint32_t rank = 1; rank < ranks(); ++rank) checked(rondo_send(communicator, &signs[rank]->byte, 1, RONDO_U8, rank));
    return;
  }
  (void)rondo_abort(communicator);
  for (std::uint32_t rank = 1; rank < ranks(); ++rank) (void)rondo_work_wait(signs[rank]->work);
  if (timeout.count() <= 0) C10_THROW_ERROR(DistBackendError, c10::str("rondo: Rank 0 timed out in monitoredBarrier after ", timeout.count(), " ms"));
  C10_THROW_ERROR(DistBackendError,
                  c10::str("rondo: ", wait_for_all ? "Ranks " : "Rank ", missing, " failed to pass monitoredBarrier in ", timeout.count(), " ms"));
}

}  // namespace rondo_torch
