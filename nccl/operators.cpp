// Operators of a communicator's own: sums of what each rank has multiplied by its factor.
#include "convert.hpp"
#include "failure.hpp"

using namespace rondo::nccl;

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence, ncclComm_t comm) {
  const Shared known = find(comm);
  if (!known) return ncclInvalidArgument;
  if (op == nullptr || scalar == nullptr) return failed(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: op or scalar is null");
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
    return failed(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: residence " + std::to_string(static_cast<int>(residence)));
  if (residence == ncclScalarDevice && known->device)
    return failed(ncclInvalidUsage, "ncclRedOpCreatePreMulSum: a factor in GPU memory isn't served; accepted: ncclScalarHostImmediate");
  const auto value = scalar_at(scalar, datatype);
  if (!value) return failed(value.error());
  const std::lock_guard holds(known->lock);
  const int number = known->factors.empty() ? ncclNumOps : known->factors.rbegin()->first + 1;
  known->factors[number] = {datatype, *value, residence == ncclScalarDevice ? scalar : nullptr};
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  const Shared known = find(comm);
  if (!known) return ncclInvalidArgument;
  const std::lock_guard holds(known->lock);
  if (known->factors.erase(op) != 0) return ncclSuccess;
  return failed(ncclInvalidArgument, "ncclRedOpDestroy: no operator of this communicator: " + std::to_string(static_cast<int>(op)));
}
