// Calls on random inputs in GPU memory, and whether their results are right.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/bench/data.hpp"
#include "cuda/gpu_ranks.hpp"

namespace rondo::test {

/// What is called.
struct Trial {
  Collective collective = Collective::all_reduce;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::uint64_t count = 0;
  std::uint32_t root = 0;
  bool in_place = false;
};

/// The same with its buffers.
struct Prepared {
  Trial trial;
  Shape shape;
  std::uint64_t seed;
  GpuBuffer input, output;
  std::uint64_t output_bytes;
};

std::unique_ptr<Prepared> prepare(const GpuRank& rank, const Trial& trial, std::uint64_t seed);
Result<void> start(GpuRank& rank, const Prepared& call);

/// Of a call whose stream has come past it: "" or how many elements are wrong.
std::string judge(const Prepared& call);

/// "" or what is wrong; a call that isn't served is not.
std::string try_once(GpuRank& rank, const Trial& trial, std::uint64_t seed);

/// Calls that are enqueued one after the other, and waited for at the end. "" or what is wrong.
std::string try_together(GpuRank& rank, const std::vector<std::unique_ptr<Prepared>>& calls);

/// Whether every rank said "".
void check_all(const std::vector<std::string>& said);

extern const std::vector<Collective> all_collectives;

}  // namespace rondo::test
