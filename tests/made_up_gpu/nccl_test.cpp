// NCCL's interface on GPU memory: what tests/nccl has in host memory, as far as it goes another way.
#include <cuda_runtime_api.h>

#include <cstring>
#include <thread>

#include "cuda/gpu_ranks.hpp"
#include "nccl/support.hpp"

using namespace rondo::test;

namespace {

constexpr std::size_t elements = 3000;

/// Ranks of one thread that share the GPU, each with a stream and buffers for `ranks` blocks.
struct GpuRanks {
  explicit GpuRanks(int ranks) : comms(static_cast<std::size_t>(ranks)), streams(comms.size()) {
    const std::vector<int> devices(comms.size(), 0);
    REQUIRE(ncclCommInitAll(comms.data(), ranks, devices.data()) == ncclSuccess);
    for (std::size_t r = 0; r < comms.size(); ++r) {
      REQUIRE(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking) == cudaSuccess);
      inputs.emplace_back(comms.size() * elements * sizeof(float));
      outputs.emplace_back(comms.size() * elements * sizeof(float));
      std::vector<float> values(comms.size() * elements);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7 + 10 * r);
      inputs[r].put(values.data(), values.size() * sizeof(float));
    }
  }
  ~GpuRanks() {
    for (const ncclComm_t comm : comms) CHECK(ncclCommDestroy(comm) == ncclSuccess);  // one after the other, by one thread
    for (const cudaStream_t stream : streams) (void)cudaStreamDestroy(stream);
  }
  GpuRanks(const GpuRanks&) = delete;
  GpuRanks& operator=(const GpuRanks&) = delete;

  /// One call of every rank in a group; then what rank r has at i.
  template <class CallOf>
  ncclResult_t each(CallOf&& call) {
    REQUIRE(ncclGroupStart() == ncclSuccess);
    for (std::size_t r = 0; r < comms.size(); ++r)
      (void)call(reinterpret_cast<float*>(inputs[r].data()), reinterpret_cast<float*>(outputs[r].data()), comms[r], streams[r]);
    const ncclResult_t result = ncclGroupEnd();
    for (const cudaStream_t stream : streams) (void)cudaStreamSynchronize(stream);
    return result;
  }
  std::vector<float> output(std::size_t rank) const {
    std::vector<float> values(comms.size() * elements);
    outputs[rank].get(values.data(), values.size() * sizeof(float));
    return values;
  }

  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
  std::vector<GpuBuffer> inputs, outputs;
};

}  // namespace

TEST_CASE("NCCL's collectives give right results on GPU memory, all ranks' calls by one thread") {
  GpuRanks ranks(3);
  REQUIRE(ranks.each([](float* in, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(in, out, elements, ncclFloat32, ncclSum, comm, stream);
  }) == ncclSuccess);
  CHECK(ranks.output(2)[8] == 3 * 1 + 30);
  REQUIRE(ranks.each([](float* in, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(in, out, elements, ncclFloat32, ncclAvg, comm, stream);
  }) == ncclSuccess);
  CHECK(ranks.output(0)[8] == 11);
  REQUIRE(ranks.each([](float* in, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllGather(in, out, elements, ncclFloat32, comm, stream);
  }) == ncclSuccess);
  CHECK(ranks.output(0)[2 * elements + 5] == 25);
  REQUIRE(ranks.each([](float* in, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclReduceScatter(in, out, elements, ncclFloat32, ncclMax, comm, stream);
  }) == ncclSuccess);
  CHECK(ranks.output(1)[1] == static_cast<float>((elements + 1) % 7 + 20));
  REQUIRE(ranks.each([](float* in, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(in, out, elements, ncclFloat32, 1, comm, stream);
  }) == ncclSuccess);
  CHECK(ranks.output(2)[3] == 13);
  REQUIRE(ranks.each([](float* in, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclReduce(in, out, elements, ncclFloat32, ncclSum, 2, comm, stream);
  }) == ncclSuccess);
  CHECK(ranks.output(2)[6] == 18 + 30);
  int device = -1;
  CHECK(ncclCommCuDevice(ranks.comms[0], &device) == ncclSuccess);
  CHECK(device == 0);
}

TEST_CASE("NCCL's messages on GPU memory: everybody's to everybody in a group, and what makes no sense") {
  GpuRanks ranks(3);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t peer = 0; peer < 3; ++peer) {
      const auto at = [&](const GpuBuffer& buffer) { return reinterpret_cast<float*>(buffer.data()) + peer * elements; };
      REQUIRE(ncclSend(at(ranks.inputs[r]), elements, ncclFloat32, static_cast<int>(peer), ranks.comms[r], ranks.streams[r]) == ncclSuccess);
      REQUIRE(ncclRecv(at(ranks.outputs[r]), elements, ncclFloat32, static_cast<int>(peer), ranks.comms[r], ranks.streams[r]) == ncclSuccess);
    }
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  for (const cudaStream_t stream : ranks.streams) (void)cudaStreamSynchronize(stream);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t peer = 0; peer < 3; ++peer)
      CHECK(ranks.output(r)[peer * elements + 5] == static_cast<float>((r * elements + 5) % 7 + 10 * peer));
  CHECK(ranks.each([](float* in, float*, ncclComm_t comm, cudaStream_t stream) {
    return ncclSend(in, elements, ncclFloat32, 0, comm, stream);
  }) == ncclInvalidUsage);
  CHECK(last_error_has("rank 0 has 1 ncclSend and 0 ncclRecv with itself"));
}

TEST_CASE("what NCCL's interface doesn't serve on GPU memory is a usage error that says so") {
  GpuRanks ranks(2);
  float factor = 2;
  ncclRedOp_t op{};
  CHECK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarDevice, ranks.comms[0]) == ncclInvalidUsage);
  std::vector<float> plain(elements);
  CHECK(ranks.each([&](float*, float* out, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(plain.data(), out, elements, ncclFloat32, ncclSum, comm, stream);
  }) == ncclInvalidArgument);
  CHECK(last_error_has("is not GPU memory"));
}

TEST_CASE("an aborted rank of NCCL's interface is an asynchronous error of the others") {
  auto ranks = std::make_unique<GpuRanks>(2);
  REQUIRE(ncclAllReduce(ranks->inputs[0].data(), ranks->outputs[0].data(), elements, ncclFloat32, ncclSum, ranks->comms[0], ranks->streams[0]) == ncclSuccess);
  REQUIRE(ncclCommAbort(ranks->comms[1]) == ncclSuccess);
  ranks->comms.pop_back();
  (void)cudaStreamSynchronize(ranks->streams[0]);
  ncclResult_t met = ncclSuccess;
  CHECK(ncclCommGetAsyncError(ranks->comms[0], &met) == ncclSuccess);
  CHECK(met == ncclRemoteError);
}
