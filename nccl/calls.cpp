// Collectives and messages, checked and handed to the thread's group.
#include <string>

#include "convert.hpp"
#include "group.hpp"

namespace rondo::nccl {
namespace {

std::string no_type(ncclDataType_t type) { return "no data type of NCCL 2.18: " + std::to_string(static_cast<int>(type)); }

/// What is wrong with a peer's or a root's number; empty: nothing.
std::string wrong_rank(const char* what, int number, const ncclComm& comm) {
  if (number >= 0 && static_cast<std::uint32_t>(number) < comm.size) return {};
  return what + (" " + std::to_string(number)) + " of " + std::to_string(comm.size) + " ranks";
}

/// What a collective is called with; who has no root says 0.
struct Given {
  const char* function;
  Collective collective;
  const void* input;
  void* output;
  std::size_t count;
  ncclDataType_t type;
  int root = 0;
};

/// The reductions' operator into the call. False: it is none of this communicator's.
bool read_op(ncclRedOp_t op, ncclComm& comm, ncclDataType_t type, Call& call, std::string& wrong) {
  if (const auto own = op_of(op)) {
    call.op = *own;
    return true;
  }
  const std::lock_guard holds(comm.lock);
  const auto made = comm.factors.find(op);
  if (made == comm.factors.end()) wrong = "no operator of this communicator: " + std::to_string(static_cast<int>(op));
  else if (made->second.type != type) wrong = "an operator that ncclRedOpCreatePreMulSum made for another data type";
  if (!wrong.empty()) return false;
  call.op = ReduceOp::premul_sum;
  const Factor& factor = made->second;
  const Result<double> value = factor.where == nullptr ? Result<double>(factor.value) : scalar_at(factor.where, type);
  if (value) call.scale = *value;
  else wrong = to_string(value.error());
  return wrong.empty();
}

ncclResult_t collective(const Given& given, const ncclRedOp_t* op, ncclComm_t handle, cudaStream_t stream) {
  const Shared comm = find(handle);
  if (!comm) return refuse(ncclInvalidArgument, std::string(given.function) + ": " + last_words());
  const std::string where = std::string(given.function) + ": ";
  const auto type = type_of(given.type);
  if (!type) return refuse(ncclInvalidArgument, where + no_type(given.type));
  if (const auto wrong = wrong_rank("root", given.root, *comm); !wrong.empty()) return refuse(ncclInvalidArgument, where + wrong);
  Call call{given.collective, given.input, given.output, given.count, *type, ReduceOp::sum, static_cast<std::uint32_t>(given.root)};
  if (std::string wrong; op != nullptr && !read_op(*op, *comm, given.type, call, wrong)) return refuse(ncclInvalidArgument, where + wrong);
  // NCCL's callers pass pointers also where a rank has no part in the call.
  const bool is_root = call.root == comm->rank;
  if (call.collective == Collective::broadcast && !is_root) call.input = nullptr;
  if (call.collective == Collective::reduce && !is_root) call.output = nullptr;
  return Group::of_this_thread().enqueue({comm, Enqueued::Kind::collective, call, 0, stream});
}

ncclResult_t message(const char* function, Enqueued::Kind kind, Call call, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
  const Shared comm = find(handle);
  if (!comm) return refuse(ncclInvalidArgument, std::string(function) + ": " + last_words());
  const std::string where = std::string(function) + ": ";
  const auto known = type_of(type);
  if (!known) return refuse(ncclInvalidArgument, where + no_type(type));
  if (const auto wrong = wrong_rank("peer", peer, *comm); !wrong.empty()) return refuse(ncclInvalidArgument, where + wrong);
  if (call.count != 0 && (kind == Enqueued::Kind::send ? call.input == nullptr : call.output == nullptr))
    return refuse(ncclInvalidArgument, where + "the buffer is null");
  call.collective = Collective::send_recv;
  call.type = *known;
  return Group::of_this_thread().enqueue({comm, kind, call, static_cast<std::uint32_t>(peer), stream});
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;
using rondo::Collective;

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return collective({"ncclReduce", Collective::reduce, sendbuff, recvbuff, count, datatype, root}, &op, comm, stream);
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return collective({"ncclBcast", Collective::broadcast, buff, buff, count, datatype, root}, nullptr, comm, stream);
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return collective({"ncclBroadcast", Collective::broadcast, sendbuff, recvbuff, count, datatype, root}, nullptr, comm, stream);
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective({"ncclAllReduce", Collective::all_reduce, sendbuff, recvbuff, count, datatype}, &op, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return collective({"ncclReduceScatter", Collective::reduce_scatter, sendbuff, recvbuff, recvcount, datatype}, &op, comm, stream);
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return collective({"ncclAllGather", Collective::all_gather, sendbuff, recvbuff, sendcount, datatype}, nullptr, comm, stream);
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream) {
  rondo::Call call;
  call.input = sendbuff;
  call.count = count;
  return message("ncclSend", Enqueued::Kind::send, call, datatype, peer, comm, stream);
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream) {
  rondo::Call call;
  call.output = recvbuff;
  call.count = count;
  return message("ncclRecv", Enqueued::Kind::recv, call, datatype, peer, comm, stream);
}
