// Ranks whose blocks are threads of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/fit.hpp"
#include "executor/segments.hpp"
#include "rondo/plan.hpp"

namespace rondo::test {

/// What a call of all ranks is.
struct HostCall {
  Plan plan;  ///< neutral or lowered
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::vector<const void*> inputs;   ///< by rank
  std::vector<void*> outputs;
  std::vector<double> scales;        ///< premul_sum; empty: 1
  std::vector<std::uint32_t> digests;  ///< empty: equal ones
  std::vector<SegmentTable> lists = {};  ///< by rank, in the place of inputs and outputs; empty: those
};

/// A rank's part of it.
struct HostJob {
  device::Job job;
  device::Elements elements;
  std::span<const Segment> list;
};

class HostGpu {
 public:
  HostGpu(std::uint32_t ranks, std::uint32_t blocks, unsigned threads_per_block, std::uint64_t half_bytes = 1u << 20);

  /// Runs the call on the ranks in `present` (empty: all). Error: of fitting it.
  Result<void> run(const HostCall& call, std::vector<std::uint32_t> present = {});

  device::HostWords& host(std::uint32_t rank) { return hosts_[rank]; }
  std::uint64_t timeout_ns = 20'000'000'000;
  std::uint64_t piece_bytes = 0;  ///< as FitRequest has it
  bool by_turns = false;          ///< one rank's blocks at a time, round by round, in an order that changes: no rank's run beside another's
  std::uint64_t rounds = 0;       ///< of the last call by turns

 private:
  Result<void> run_rounds(const std::vector<device::Fitted>& fitted, std::vector<HostJob>& jobs);
  struct alignas(256) Line {
    std::byte bytes[256];
  };
  std::uint32_t ranks_;
  std::uint32_t blocks_;
  unsigned threads_;
  device::AreaLayout layout_;
  std::vector<std::vector<Line>> areas_;
  std::vector<std::byte*> places_;
  std::vector<device::HostWords> hosts_;
};

}  // namespace rondo::test
