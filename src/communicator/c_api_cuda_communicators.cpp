// The C interface: communicators on GPU memory.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "communicator/c_api.hpp"
#include "rondo/cuda.hpp"
#include "rondo/rondo_cuda.h"

using namespace rondo;
using namespace rondo::c;

struct rondo_cuda_communicator {
  CudaCommunicator value;
};

namespace {

static_assert(sizeof(rondo_cuda_options) == offsetof(rondo_cuda_options, staging_bytes) + sizeof(rondo_cuda_options::staging_bytes));

/// The largest number stands for what doesn't fit: no rank accepts it.
std::uint32_t narrowed(std::uint64_t number) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max())); }

Result<CudaOptions> cuda_options_of(int device, const rondo_cuda_options* given) {
  CudaOptions options;
  if (device < RONDO_CUDA_CURRENT) return wrong("device is " + std::to_string(device) + "; accepted: CUDA's number of a GPU, or RONDO_CUDA_CURRENT");
  options.device = device;
  if (given == nullptr) return options;
  if (auto error = wrong_struct(given, given->size, sizeof *given, "rondo_cuda_options")) return *error;
  const auto timeout = duration_of(given->timeout_seconds, "timeout_seconds");
  if (!timeout) return timeout.error();
  if (given->timeout_seconds != 0) options.timeout = *timeout;
  if (given->algorithm != nullptr) options.algorithm = given->algorithm;
  options.blocks = narrowed(given->blocks);
  options.threads = narrowed(given->threads);
  options.piece_bytes = given->piece_bytes;
  if (given->staging_bytes != 0) options.staging_bytes = given->staging_bytes;
  return options;
}

}  // namespace

extern "C" {

const char* rondo_cuda_version(void) {
  static const std::string version = cuda_version();
  return version.c_str();
}

rondo_status rondo_cuda_create(rondo_communicator* host, int device, const rondo_cuda_options* options, rondo_cuda_communicator** communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"host", host}, {"communicator", communicator}})) return *error;
    const auto checked = cuda_options_of(device, options);
    if (!checked) return checked.error();
    auto made = CudaCommunicator::create(host->value, *checked);
    if (!made) return made.error();
    *communicator = new rondo_cuda_communicator{std::move(*made)};
    return {};
  });
}

rondo_status rondo_cuda_run(rondo_cuda_communicator* communicator, const rondo_call* call, void* stream) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    const auto filled = whole(call);
    if (!filled) return filled.error();
    if (auto error = wrong_call(*filled, communicator->value.size())) return *error;
    return communicator->value.run(call_of(*filled), stream);
  });
}

rondo_status rondo_cuda_all_reduce_fused(rondo_cuda_communicator* communicator, const rondo_bucket* bucket, void* stream) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    if (auto error = wrong_bucket(bucket)) return *error;
    const auto tensors = tensors_of(*bucket);
    return communicator->value.all_reduce_fused(bucket_of(*bucket, tensors), stream);
  });
}

rondo_status rondo_cuda_set_timeout(rondo_cuda_communicator* communicator, double seconds) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    const auto timeout = duration_of(seconds, "seconds");
    if (!timeout) return timeout.error();
    return communicator->value.set_timeout(*timeout);
  });
}

rondo_status rondo_cuda_exchange(rondo_cuda_communicator* communicator, const rondo_cuda_message* messages, uint64_t count) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    if (count != 0 && messages == nullptr) return wrong("messages is NULL");
    std::vector<CudaMessage> ends;
    for (uint64_t m = 0; m < count; ++m) {
      const rondo_cuda_message& message = messages[m];
      if (auto error = wrong_type(message.type)) return *error;
      ends.push_back({message.sends != 0, message.memory, message.count, type_of(message.type), message.peer, message.stream});
    }
    return communicator->value.exchange(ends);
  });
}

rondo_status rondo_cuda_all_to_all_v(rondo_cuda_communicator* communicator, const void* input, const uint64_t* sent_counts, const uint64_t* sent_offsets,
                                     void* output, const uint64_t* received_counts, const uint64_t* received_offsets, rondo_type type, void* stream) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"sent_counts", sent_counts}, {"received_counts", received_counts}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    const std::uint32_t ranks = communicator->value.size();
    return communicator->value.all_to_all_v(input, blocks_of(ranks, sent_counts, sent_offsets), output, blocks_of(ranks, received_counts, received_offsets),
                                            type_of(type), stream);
  });
}

rondo_status rondo_cuda_check(const rondo_cuda_communicator* communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    return communicator->value.check();
  });
}

rondo_status rondo_cuda_abort(rondo_cuda_communicator* communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    communicator->value.abort();
    return {};
  });
}

void rondo_cuda_destroy(rondo_cuda_communicator* communicator) { delete communicator; }

rondo_status rondo_cuda_rank(const rondo_cuda_communicator* communicator, uint32_t* rank) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"rank", rank}})) return *error;
    *rank = communicator->value.rank();
    return {};
  });
}

rondo_status rondo_cuda_size(const rondo_cuda_communicator* communicator, uint32_t* size) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"size", size}})) return *error;
    *size = communicator->value.size();
    return {};
  });
}

rondo_status rondo_cuda_device(const rondo_cuda_communicator* communicator, int* device) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"device", device}})) return *error;
    *device = communicator->value.device();
    return {};
  });
}

}  // extern "C"
