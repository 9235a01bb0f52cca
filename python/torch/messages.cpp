// Messages between two ranks, and barriers.
#include <c10/util/Exception.h>

#include <chrono>
#include <memory>

#include "backend-inl.hpp"

namespace rondo_torch {
namespace {

using Clock = std::chrono::steady_clock;

void check_peer(int peer, int own, int size, const char* what) {
  TORCH_CHECK_VALUE(peer >= 0 && peer < size && peer != own, "rondo: ", what, " rank ", peer, "; accepted: another one of ", size, " ranks, this is rank ",
                    own);
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

}  // namespace

/// Neither says whether it is waited for at once, so both are started, and whoever waits runs them.
WorkPointer Backend::send(Tensors& tensors, int to, int /*tag*/) {
  const at::Tensor& tensor = single(tensors, "tensors of send");
  check_peer(to, rank_, size_, "send to");
  Operation operation{c10d::OpType::SEND, "rondo:send", rank_, 0, {tensor}, {}};
  const at::Tensor given = operation.given(tensor);
  const rondo_type type = moved(given.scalar_type()).type;
  const auto peer = static_cast<std::uint32_t>(to);
  return start(std::move(operation), [&](rondo_communicator* c, rondo_work** started) {
    return rondo_start_send(c, given.data_ptr(), count_of(given), type, peer, started);
  });
}

WorkPointer Backend::recv(Tensors& tensors, int from, int /*tag*/) {
  const at::Tensor& tensor = single(tensors, "tensors of recv");
  check_peer(from, rank_, size_, "recv from");
  Operation operation{c10d::OpType::RECV, "rondo:recv", rank_, 0, {}, {tensor}};
  const at::Tensor room = operation.received(tensor);
  const rondo_type type = moved(room.scalar_type()).type;
  const auto peer = static_cast<std::uint32_t>(from);
  return start(std::move(operation), [&](rondo_communicator* c, rondo_work** started) {
    return rondo_start_recv(c, room.data_ptr(), count_of(room), type, peer, started);
  });
}

WorkPointer Backend::recvAnysource(Tensors& tensors, int /*tag*/) {
  const at::Tensor& tensor = single(tensors, "tensors of recv");
  Operation operation{c10d::OpType::RECVANYSOURCE, "rondo:recv_any", rank_, 0, {}, {tensor}};
  const at::Tensor room = operation.received(tensor);
  const rondo_type type = moved(room.scalar_type()).type;
  return start(std::move(operation), [&](rondo_communicator* c, rondo_work** started) {
    return rondo_start_recv_any(c, room.data_ptr(), count_of(room), type, started);
  });
}

WorkPointer Backend::barrier(const c10d::BarrierOptions& options) {
  rondo_call call{};
  call.size = sizeof call;
  call.collective = RONDO_BARRIER;
  return run(operation(c10d::OpType::BARRIER, "rondo:barrier", {}, {}), call, timing(options));
}

/// Rank 0 hears of each rank, and answers when it has heard of all. Ranks that don't come are named, and the group is over.
void Backend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_for_all) {
  rondo_communicator* communicator = group_.communicator();
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
    if (rondo_work_done(answer->work) != 0) checked(rondo_work_wait(answer->work));
    (void)rondo_abort(communicator);  // which ends the receive
    (void)rondo_work_wait(answer->work);
    C10_THROW_ERROR(DistBackendError, c10::str("rondo: monitored_barrier: rank 0 did not answer rank ", rank_, " within ", timeout.count(), " ms"));
  }
  std::vector<std::unique_ptr<Sign>> signs(ranks());
  for (std::uint32_t rank = 1; rank < ranks(); ++rank) {
    signs[rank] = std::make_unique<Sign>();
    checked(rondo_start_recv(communicator, &signs[rank]->byte, 1, RONDO_U8, rank, &signs[rank]->work));
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
  C10_THROW_ERROR(DistBackendError, c10::str("rondo: monitored_barrier: no sign of rank ", missing, " within ", timeout.count(), " ms"));
}

}  // namespace rondo_torch
