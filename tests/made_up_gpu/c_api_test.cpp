// Communicators on GPU memory through the C interface.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cuda/gpu_ranks.hpp"
#include "rondo/rondo_cuda.h"
#include "support/catch.hpp"

using rondo::test::GpuBuffer;

namespace {

/// "" when the status is the expected one and, if it is a failure, its words have `word`.
std::string answered(rondo_status got, rondo_status wanted, const std::string& word = "") {
  const std::string said = got == RONDO_SUCCESS ? "" : rondo_last_error();
  if (got == wanted && said.find(word) != std::string::npos) return "";
  return std::string(rondo_status_name(got)) + " (" + said + ") where " + rondo_status_name(wanted) + " with '" + word + "' was expected; ";
}

/// What two ranks, in their threads, say that have communicators in host memory.
std::string two_ranks(const std::function<std::string(rondo_communicator*, std::uint32_t)>& body) {
  rondo_communicator* hosts[2] = {};
  if (rondo_create_in_process(2, 20, hosts) != RONDO_SUCCESS) return rondo_last_error();
  std::string said[2];
  {
    std::jthread ranks[2];
    for (std::uint32_t rank = 0; rank < 2; ++rank) ranks[rank] = std::jthread([&, rank] { said[rank] = body(hosts[rank], rank); });
  }
  for (rondo_communicator* host : hosts) rondo_destroy(host);
  return said[0] + said[1];
}

rondo_cuda_options within(double seconds) {
  rondo_cuda_options options{};
  options.size = sizeof options;
  options.timeout_seconds = seconds;
  return options;
}

rondo_call sum_of(const GpuBuffer& buffer, std::uint64_t count) {
  return {sizeof(rondo_call), RONDO_ALL_REDUCE, RONDO_F32, RONDO_SUM, 0, buffer.data(), buffer.data(), count, 0, nullptr, nullptr};
}

}  // namespace

TEST_CASE("through C, a communicator on GPU memory sums, says who it is, and is left") {
  CHECK(std::string(rondo_cuda_version()).find('.') != std::string::npos);
  CHECK(two_ranks([](rondo_communicator* host, std::uint32_t rank) -> std::string {
          const rondo_cuda_options options = within(20);
          rondo_cuda_communicator* gpu = nullptr;
          if (auto wrong = answered(rondo_cuda_create(host, RONDO_CUDA_CURRENT, &options, &gpu), RONDO_SUCCESS); !wrong.empty()) return wrong;
          std::uint32_t own = 7, ranks = 7;
          int device = 7;
          std::string wrong = answered(rondo_cuda_rank(gpu, &own), RONDO_SUCCESS) + answered(rondo_cuda_size(gpu, &ranks), RONDO_SUCCESS) +
                              answered(rondo_cuda_device(gpu, &device), RONDO_SUCCESS);
          if (own != rank || ranks != 2 || device != 0) wrong += "not who it is; ";
          std::vector<float> values(1000, static_cast<float>(rank + 1));
          GpuBuffer buffer(values.size() * sizeof(float));
          buffer.put(values.data(), values.size() * sizeof(float));
          const rondo_call call = sum_of(buffer, values.size());
          cudaStream_t stream = nullptr;
          (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
          wrong += answered(rondo_cuda_run(gpu, &call, stream), RONDO_SUCCESS);
          (void)cudaStreamSynchronize(stream);
          wrong += answered(rondo_cuda_check(gpu), RONDO_SUCCESS);
          buffer.get(values.data(), values.size() * sizeof(float));
          if (values != std::vector<float>(values.size(), 3.0f)) wrong += "a wrong sum; ";
          (void)cudaStreamDestroy(stream);
          rondo_cuda_destroy(gpu);
          return wrong;
        }) == "");
}

TEST_CASE("through C, nonsense on GPU memory is refused in words, and the communicators work on") {
  CHECK(two_ranks([](rondo_communicator* host, std::uint32_t) -> std::string {
          rondo_cuda_communicator* gpu = nullptr;
          rondo_cuda_options options = within(20), wrong_size = options, no_time = options;
          wrong_size.size = 1;
          no_time.timeout_seconds = NAN;
          std::string wrong = answered(rondo_cuda_create(nullptr, 0, &options, &gpu), RONDO_INVALID_ARGUMENT, "host is null") +
                              answered(rondo_cuda_create(host, 0, &options, nullptr), RONDO_INVALID_ARGUMENT, "communicator is null") +
                              answered(rondo_cuda_create(host, -2, &options, &gpu), RONDO_INVALID_ARGUMENT, "device is -2") +
                              answered(rondo_cuda_create(host, 0, &wrong_size, &gpu), RONDO_INVALID_ARGUMENT, "size of rondo_cuda_options") +
                              answered(rondo_cuda_create(host, 0, &no_time, &gpu), RONDO_INVALID_ARGUMENT, "timeout_seconds");
          rondo_cuda_options blocks = options;  // what the library judges, on all ranks
          blocks.blocks = std::uint64_t{1} << 32;
          wrong += answered(rondo_cuda_create(host, 0, &blocks, &gpu), RONDO_INVALID_ARGUMENT, "blocks");
          wrong += answered(rondo_cuda_create(host, 9, &options, &gpu), RONDO_INVALID_ARGUMENT, "device 9");
          if (gpu != nullptr) wrong += "a communicator of a call that was refused; ";
          if (auto failed = answered(rondo_cuda_create(host, 0, nullptr, &gpu), RONDO_SUCCESS); !failed.empty()) return wrong + failed;
          GpuBuffer buffer(64);
          const rondo_call call = sum_of(buffer, 4);
          rondo_call size = call, type = call, collective = call, root = call, memory = call;
          float in_host_memory[4] = {};
          size.size = 8, type.type = static_cast<rondo_type>(99), collective.collective = static_cast<rondo_collective>(99);
          root.collective = RONDO_BROADCAST, root.root = 2, memory.input = memory.output = in_host_memory;
          std::uint32_t* const nowhere = nullptr;
          const rondo_tensor tensor{buffer.data(), buffer.data(), 4}, host_tensor{in_host_memory, in_host_memory, 4};
          rondo_bucket bucket{};
          bucket.size = sizeof bucket, bucket.tensors = &tensor, bucket.tensor_count = 1, bucket.type = RONDO_F32, bucket.op = RONDO_SUM;
          rondo_bucket outside = bucket;
          outside.tensors = &host_tensor;
          wrong += answered(rondo_cuda_run(nullptr, &call, nullptr), RONDO_INVALID_ARGUMENT, "communicator is null") +
                   answered(rondo_cuda_run(gpu, nullptr, nullptr), RONDO_INVALID_ARGUMENT, "call is null") +
                   answered(rondo_cuda_run(gpu, &size, nullptr), RONDO_INVALID_ARGUMENT, "size of rondo_call") +
                   answered(rondo_cuda_run(gpu, &type, nullptr), RONDO_INVALID_ARGUMENT, "unknown type 99") +
                   answered(rondo_cuda_run(gpu, &collective, nullptr), RONDO_INVALID_ARGUMENT, "unknown collective 99") +
                   answered(rondo_cuda_run(gpu, &root, nullptr), RONDO_INVALID_ARGUMENT, "root 2 is not below 2 ranks") +
                   answered(rondo_cuda_run(gpu, &memory, nullptr), RONDO_INVALID_ARGUMENT, "is not GPU memory") +
                   answered(rondo_cuda_all_reduce_fused(nullptr, &bucket, nullptr), RONDO_INVALID_ARGUMENT, "communicator is null") +
                   answered(rondo_cuda_all_reduce_fused(gpu, nullptr, nullptr), RONDO_INVALID_ARGUMENT, "bucket is null") +
                   answered(rondo_cuda_all_reduce_fused(gpu, &outside, nullptr), RONDO_INVALID_ARGUMENT, "tensor 0's input is not GPU memory") +
                   answered(rondo_cuda_set_timeout(nullptr, 1), RONDO_INVALID_ARGUMENT, "communicator is null") +
                   answered(rondo_cuda_set_timeout(gpu, NAN), RONDO_INVALID_ARGUMENT, "seconds") +
                   answered(rondo_cuda_check(nullptr), RONDO_INVALID_ARGUMENT, "communicator is null") +
                   answered(rondo_cuda_abort(nullptr), RONDO_INVALID_ARGUMENT, "communicator is null") +
                   answered(rondo_cuda_rank(gpu, nowhere), RONDO_INVALID_ARGUMENT, "rank is null") +
                   answered(rondo_cuda_size(gpu, nowhere), RONDO_INVALID_ARGUMENT, "size is null") +
                   answered(rondo_cuda_device(gpu, nullptr), RONDO_INVALID_ARGUMENT, "device is null");
          wrong += answered(rondo_cuda_set_timeout(gpu, 10), RONDO_SUCCESS);
          wrong += answered(rondo_cuda_run(gpu, &call, cudaStreamPerThread), RONDO_SUCCESS);
          wrong += answered(rondo_cuda_all_reduce_fused(gpu, &bucket, cudaStreamPerThread), RONDO_SUCCESS);
          (void)cudaStreamSynchronize(cudaStreamPerThread);
          wrong += answered(rondo_cuda_check(gpu), RONDO_SUCCESS);
          rondo_cuda_destroy(gpu);
          rondo_cuda_destroy(nullptr);
          return wrong;
        }) == "");
}

TEST_CASE("through C, abort ends a call that a peer never makes, and every later one") {
  CHECK(two_ranks([](rondo_communicator* host, std::uint32_t rank) -> std::string {
          const rondo_cuda_options options = within(20);
          rondo_cuda_communicator* gpu = nullptr;
          if (auto wrong = answered(rondo_cuda_create(host, 0, &options, &gpu), RONDO_SUCCESS); !wrong.empty()) return wrong;
          std::string wrong = answered(rondo_barrier(host), RONDO_SUCCESS);  // the peer has made its own
          GpuBuffer buffer(64);
          const rondo_call call = sum_of(buffer, 4);
          if (rank == 0) {
            wrong += answered(rondo_cuda_run(gpu, &call, cudaStreamPerThread), RONDO_SUCCESS);
            wrong += answered(rondo_cuda_abort(gpu), RONDO_SUCCESS);
            (void)cudaStreamSynchronize(cudaStreamPerThread);
            wrong += answered(rondo_cuda_check(gpu), RONDO_ABORTED) + answered(rondo_cuda_run(gpu, &call, cudaStreamPerThread), RONDO_ABORTED);
          }
          rondo_cuda_destroy(gpu);
          return wrong;
        }) == "");
}

TEST_CASE("through C, messages and blocks go between GPU memory") {
  CHECK(two_ranks([](rondo_communicator* host, std::uint32_t rank) -> std::string {
          const rondo_cuda_options options = within(20);
          rondo_cuda_communicator* gpu = nullptr;
          if (auto wrong = answered(rondo_cuda_create(host, RONDO_CUDA_CURRENT, &options, &gpu), RONDO_SUCCESS); !wrong.empty()) return wrong;
          std::vector<float> values(3000, static_cast<float>(rank + 1)), got(3000);
          GpuBuffer out(12'000), in(12'000);
          out.put(values.data(), 12'000);
          cudaStream_t stream = nullptr;
          (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
          const rondo_cuda_message messages[] = {{1, out.data(), 3000, RONDO_F32, 1 - rank, stream}, {0, in.data(), 3000, RONDO_F32, 1 - rank, stream}};
          std::string wrong = answered(rondo_cuda_exchange(gpu, messages, 2), RONDO_SUCCESS);
          (void)cudaStreamSynchronize(stream);
          in.get(got.data(), 12'000);
          if (got != std::vector<float>(3000, static_cast<float>(2 - rank))) wrong += "a wrong message; ";
          const std::uint64_t sent[] = {1000, 2000}, each = rank == 0 ? 1000 : 2000;  // each rank's, so that rank 0 gets 1000 from either
          const std::uint64_t received[] = {each, each};
          GpuBuffer blocks(16'000);
          wrong += answered(rondo_cuda_all_to_all_v(gpu, out.data(), sent, nullptr, blocks.data(), received, nullptr, RONDO_F32, stream), RONDO_SUCCESS);
          (void)cudaStreamSynchronize(stream);
          got.resize(2 * each);
          blocks.get(got.data(), got.size() * sizeof(float));
          if (got.front() != 1 || got.back() != 2) wrong += "wrong blocks; ";
          wrong += answered(rondo_cuda_check(gpu), RONDO_SUCCESS) + answered(rondo_cuda_exchange(gpu, nullptr, 1), RONDO_INVALID_ARGUMENT, "messages is NULL") +
                   answered(rondo_cuda_exchange(nullptr, messages, 2), RONDO_INVALID_ARGUMENT, "communicator") +
                   answered(rondo_cuda_all_to_all_v(gpu, nullptr, nullptr, nullptr, nullptr, received, nullptr, RONDO_F32, stream), RONDO_INVALID_ARGUMENT,
                            "sent_counts");
          (void)cudaStreamDestroy(stream);
          rondo_cuda_destroy(gpu);
          return wrong;
        }) == "");
}
