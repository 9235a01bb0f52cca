// Reductions of n sources, and fused buckets: bytes read and written in a second, as parts of what the GPU's own copy reaches.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "rondo/cuda_kernels.hpp"
#include "sections.hpp"

namespace bench_cuda {
namespace {

using namespace rondo;
using nlohmann::json;

/// Also as a part of what the copy of just as many bytes reaches, which takes its time to begin and to end, too.
json row(const std::string& what, double bytes, double us, double copy) {
  const double rate = bytes / us * 1e6;
  const double alike = copy_bytes_per_s(static_cast<std::uint64_t>(bytes / 2) / 256 * 256);
  std::printf("%-52s %10.1f us %9.0f GB/s %6.3f of a copy of 64 MiB %6.3f of one of as many bytes\n", what.c_str(), us, rate / 1e9, rate / copy, rate / alike);
  std::fflush(stdout);
  return {{"what", what}, {"bytes_moved", bytes}, {"us", us}, {"bytes_per_s", rate}, {"part_of_copy", rate / copy}, {"part_of_copy_of_as_many", rate / alike}};
}

json measure_reduction(std::uint32_t sources, DataType type, std::uint64_t bytes, double copy) {
  const std::uint64_t sets = std::max<std::uint64_t>(1, rotated_bytes / ((sources + 1) * bytes));
  std::vector<Buffer> buffers;
  for (std::uint32_t b = 0; b <= sources; ++b) buffers.emplace_back(sets * bytes);
  const double us = median_us(9, 8, nullptr, [&](std::uint64_t k) {
    const std::uint64_t at = k % sets * bytes;
    std::vector<const void*> from;
    for (std::uint32_t s = 0; s < sources; ++s) from.push_back(buffers[s].data() + at);
    void* to = buffers[sources].data() + at;
    KernelCall call;
    call.sources = from.data();
    call.destinations = &to;
    call.source_count = sources;
    call.destination_count = 1;
    call.count = bytes / size_of(type);
    must(cuda_combine(call, type, ReduceOp::sum, nullptr));
  });
  return row("reduce, " + std::to_string(sources) + " sources of " + std::to_string(bytes >> 20) + " MiB, " + std::string(to_string(type)),
             static_cast<double>((sources + 1) * bytes), us, copy);
}

/// Elements of so many tensors, some large and many small, `total` of them in all.
std::vector<std::uint64_t> tensor_sizes(std::uint64_t total, std::uint32_t tensors) {
  std::mt19937 random(3);
  std::vector<double> weights(tensors);
  double sum = 0;
  for (double& weight : weights) {
    const auto drawn = static_cast<double>(random() % 64 + 1);
    weight = random() % 4 == 0 ? drawn : drawn / 50;
    sum += weight;
  }
  std::vector<std::uint64_t> sizes;
  for (const double weight : weights) sizes.push_back(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(total) * weight / sum)));
  return sizes;
}

std::uint64_t bytes_of(CudaFloat type) { return type == CudaFloat::f32 ? 4 : type == CudaFloat::bf16 || type == CudaFloat::f16 ? 2 : 1; }

/// Each tensor begins at a multiple of 16 bytes, as a framework's do.
json measure_bucket(std::uint64_t total_bytes, std::uint32_t sources, CudaFloat from, CudaFloat to, const std::string& name, double copy) {
  constexpr std::uint32_t tensors = 200;
  const std::vector<std::uint64_t> counts = tensor_sizes(total_bytes / bytes_of(from), tensors);
  std::vector<std::uint64_t> offsets;
  std::uint64_t elements = 0, room = 0;
  for (const std::uint64_t count : counts) {
    offsets.push_back(room);
    elements += count;
    room += (count + 15) / 16 * 16;
  }
  const std::uint64_t set_bytes = room * (sources * bytes_of(from) + bytes_of(to));
  const std::uint64_t sets = std::max<std::uint64_t>(1, rotated_bytes / set_bytes);
  std::vector<Buffer> inputs;
  for (std::uint32_t s = 0; s < sources; ++s) inputs.emplace_back(sets * room * bytes_of(from));
  const Buffer output(sets * room * bytes_of(to));
  const double us = median_us(9, 8, nullptr, [&](std::uint64_t k) {
    std::vector<const void*> reads;
    std::vector<void*> writes;
    for (std::uint32_t s = 0; s < sources; ++s)
      for (std::uint32_t t = 0; t < tensors; ++t) reads.push_back(inputs[s].data() + (k % sets * room + offsets[t]) * bytes_of(from));
    for (std::uint32_t t = 0; t < tensors; ++t) writes.push_back(output.data() + (k % sets * room + offsets[t]) * bytes_of(to));
    CudaLists lists;
    lists.counts = counts.data();
    lists.sources = reads.data();
    lists.destinations = writes.data();
    lists.tensor_count = tensors;
    lists.source_count = sources;
    lists.destination_count = 1;
    lists.source_type = from;
    lists.destination_type = to;
    lists.scale = 0.5f;
    must(cuda_combine_lists(lists, nullptr));
  });
  return row("bucket, " + std::to_string(total_bytes / 1'000'000) + " MB in 200 tensors, " + std::to_string(sources) + " sources, " + name,
             static_cast<double>(elements * (sources * bytes_of(from) + bytes_of(to))), us, copy);
}

}  // namespace

json measure_kernels(double copy, bool quick) {
  json rows = json::array();
  for (const std::uint32_t sources : {2u, 4u, 8u})
    for (const DataType type : {DataType::f32, DataType::bf16}) rows.push_back(measure_reduction(sources, type, 64u << 20, copy));
  for (const std::uint64_t bytes : {std::uint64_t{25'000'000}, std::uint64_t{250'000'000}}) {
    rows.push_back(measure_bucket(bytes, 2, CudaFloat::f32, CudaFloat::f32, "f32", copy));
    rows.push_back(measure_bucket(bytes, 2, CudaFloat::bf16, CudaFloat::bf16, "bf16", copy));
    if (quick) continue;
    rows.push_back(measure_bucket(bytes, 8, CudaFloat::bf16, CudaFloat::f32, "bf16 to f32", copy));
    rows.push_back(measure_bucket(bytes, 1, CudaFloat::f32, CudaFloat::bf16, "f32 to bf16", copy));
  }
  return rows;
}

}  // namespace bench_cuda
