// NCCL's types and operators as Rondo's.
#pragma once

#include <optional>

#include "communicator.hpp"

namespace rondo::nccl {

/// Nothing: no type of NCCL 2.18.
std::optional<DataType> type_of(ncclDataType_t type);

/// Of NCCL's own operators. Nothing: one that ncclRedOpCreatePreMulSum() made, or none.
std::optional<ReduceOp> op_of(ncclRedOp_t op);

/// The value of that type at an address, as a factor. Errors: invalid_argument (no type; an integer that a double can't hold).
Result<double> scalar_at(const void* address, ncclDataType_t type);

}  // namespace rondo::nccl
