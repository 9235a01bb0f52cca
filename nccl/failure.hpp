// Rondo's errors as NCCL's results, and the words that ncclGetLastError() gives.
#pragma once

#include <string>

#include "include/nccl.h"
#include "rondo/result.hpp"

namespace rondo::nccl {

ncclResult_t result_of(Errc code);

/// Keeps the words for ncclGetLastError() on this thread.
ncclResult_t failed(const Error& error);
ncclResult_t failed(ncclResult_t result, std::string words);

/// ncclSuccess, or what became of it.
ncclResult_t outcome(const Result<void>& result);

/// Of this thread; empty: nothing has failed.
const std::string& last_words();

}  // namespace rondo::nccl
