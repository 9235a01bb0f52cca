#include "backend.hpp"

#include <array>
#include <utility>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "backend-inl.hpp"

namespace rondo_torch {

Backend::Backend(const GroupOptions& options, std::vector<std::int64_t> global_ranks, bool for_gloo, std::optional<c10::DeviceType> device)
    : c10d::Backend(static_cast<int>(options.rank), static_cast<int>(options.size)), options_(c10::make_intrusive<GlooLikeOptions>("rondo", options.timeout)),
      group_(options), device_(std::make_shared<DeviceGroup>(device)), for_gloo_(for_gloo) {
  options_->group_name = options.name;
  options_->global_ranks_in_group.assign(global_ranks.begin(), global_ranks.end());
  init();
}

Backend::Backend(const Backend& of, const Group::Left& left)
    : c10d::Backend(static_cast<int>(left.place_of(of.rank_)), static_cast<int>(left.ranks.size())),
      options_(c10::make_intrusive<GlooLikeOptions>("rondo", of.options_->timeout)), group_(of.group_, left),
      device_(std::make_shared<DeviceGroup>(of.device_->accepted())), for_gloo_(of.for_gloo_) {
  options_->group_name = of.options_->group_name;
  const auto& before = of.options_->global_ranks_in_group;
  for (const std::int64_t rank : left.ranks)
    if (!before.empty()) options_->global_ranks_in_group.push_back(before.at(static_cast<std::size_t>(rank)));
  init();
}

Backend::~Backend() {
  device_->close();
  pairs_.close();
  if (left_ && left_->communicator != nullptr) rondo_destroy(left_->communicator);
}

std::vector<std::int64_t> Backend::lost_ranks() {
  const std::lock_guard lock(shrink_mutex_);
  if (!left_) left_ = group_.shrink();
  std::vector<std::int64_t> lost;
  for (std::int64_t rank = 0; rank < size_; ++rank)
    if (!left_->has(rank)) lost.push_back(rank);
  return lost;
}

std::string Backend::told_by_first(const std::string& text) {
  const std::lock_guard lock(shrink_mutex_);
  TORCH_CHECK_WITH(DistBackendError, left_ && left_->communicator != nullptr, "rondo: this process group isn't being shrunk");
  std::array<char, 256> told{};
  text.copy(told.data(), told.size() - 1);
  const rondo_status status = rondo_broadcast(left_->communicator, told.data(), told.data(), told.size(), RONDO_U8, 0);
  if (status != RONDO_SUCCESS) throw_failure(status, "shrink");
  return told.data();
}

c10::intrusive_ptr<c10d::Backend> Backend::shrink(const std::vector<std::int64_t>& excluded, int /*flags*/, const c10::intrusive_ptr<Options>& /*options*/) {
  const std::vector<std::int64_t> lost = lost_ranks();
  TORCH_CHECK_VALUE(lost == excluded, "rondo: shrink_group with ranks_to_exclude ", excluded, ", where those that have gone are ", lost,
                    "; accepted: what rondo.torch.lost_ranks() says");
  const std::lock_guard lock(shrink_mutex_);
  TORCH_CHECK_WITH(DistBackendError, left_->communicator != nullptr, "rondo: this process group was shrunk before");
  return c10::make_intrusive<Backend>(*this, Group::Left{std::exchange(left_->communicator, nullptr), left_->ranks});
}

SparseSums& Backend::sparse_sums() {
  const std::lock_guard lock(sparse_mutex_);
  if (!sparse_) sparse_ = std::make_unique<SparseSums>(group_);
  return *sparse_;
}

SparseSums* Backend::made_sparse_sums() {
  const std::lock_guard lock(sparse_mutex_);
  return sparse_.get();
}

void Backend::abort() {
  device_->abort();
  pairs_.abort();
  group_.abort();
  if (SparseSums* const made = made_sparse_sums()) made->abort();
}

void Backend::shutdown() {
  device_->close();
  pairs_.close();
  if (SparseSums* const made = made_sparse_sums()) made->close();
  group_.close();
}

void Backend::setTimeout(std::chrono::milliseconds timeout) {
  group_.set_timeout(timeout);
  options_->timeout = timeout;
}

CallId Backend::next(const Kind& kind) const {
  // messages are outside the order that all ranks share
  return {&kind, rank_, c10d::isP2POp(kind.type) ? 0 : sequence_.load(std::memory_order_relaxed) + 1};
}

Operation Backend::operation(const CallId& id) {
  Operation operation;
  operation.id = id;
  operation.for_gloo = for_gloo_;
  if (id.sequence != 0) operation.id.sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
  return operation;
}

Operation Backend::operation(const CallId& id, Tensors inputs, Tensors outputs, bool async) {
  check_devices(id, inputs, outputs);
  const c10::Device device = (inputs.empty() ? outputs : inputs).front().device();
  if (!device.is_cpu()) device_->check(id, device);
  Operation operation = this->operation(id);
  operation.inputs = std::move(inputs);
  operation.outputs = std::move(outputs);
  if (!device.is_cpu()) operation.on = device_->begin(operation.id, device, async, group_);
  return operation;
}

WorkPointer Backend::run(Operation operation, at::ArrayRef<rondo_call> calls, Timing timing) {
  if (operation.on)
    return run_on_device(std::move(operation), timing.timeout, [&](rondo_cuda_communicator* communicator, void* stream) {
      rondo_status status = RONDO_SUCCESS;
      for (const rondo_call* call = calls.begin(); call != calls.end() && status == RONDO_SUCCESS; ++call) status = rondo_cuda_run(communicator, call, stream);
      return status;
    });
  const rondo_call* next = calls.begin();
  return run(
      std::move(operation), timing, [&](rondo_communicator* communicator) { return rondo_run(communicator, next++); },
      [&](rondo_communicator* communicator, rondo_work** started) { return rondo_start(communicator, next++, started); }, calls.size());
}

}  // namespace rondo_torch
