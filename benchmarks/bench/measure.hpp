// One size measured on one rank's communicator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "rondo/communicator.hpp"

struct Timing {
  double time_us = 0;          ///< per call: the slowest rank's
  double algbw_gbps = 0;
  double busbw_gbps = 0;
  std::optional<std::uint64_t> wrong;  ///< over all ranks; empty: nothing was checked
  std::uint32_t iterations = 0;
  std::vector<double> percentiles_us;  ///< 50, 90, 99, where asked for
};

struct Row {
  std::uint64_t bytes = 0;     ///< as nccl-tests counts them: the larger buffer
  std::uint64_t count = 0;     ///< elements per block
  std::string plan;
  std::optional<Timing> out_of_place;  ///< empty: an imported plan that is for calls in place only
  std::optional<Timing> in_place;      ///< empty: one that isn't for these, or send_recv, which would overwrite what it sends

  std::vector<const Timing*> timings() const;
  std::optional<std::uint64_t> wrong() const;  ///< wrong values of all timings; empty: nothing was checked
};

/// Measures one size, out of place and in place, as far as the plan allows. With --trace some calls after those that were timed, and
/// apart from them, are added to `trace`. Collective: all ranks call it with equal arguments.
rondo::Result<Row> measure(rondo::Communicator& communicator, const Options& options, std::uint64_t bytes, rondo::Trace& trace);

/// busbw = algbw × this, by nccl-tests' formulas.
double bus_factor(rondo::Collective collective, std::uint32_t ranks);
