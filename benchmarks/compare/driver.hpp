// The loop that every library's ranks run: sleep until it is our turn, measure one block, answer, sleep.
// One template, so that no virtual call stands between the clock and the library.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "compare/buffers.hpp"
#include "compare/rank_link.hpp"

namespace compare {

/// One call as an adapter sees it. In place, `input` and `output` lie as the operation defines it (all_gather, gather: input is
/// the rank's block of output; reduce_scatter, scatter: output is the rank's block of input; else they are equal). Both are
/// there on all ranks, also where the operation reads or writes them at the root alone.
struct Call {
  Operation operation;
  Type type;
  void* input;
  void* output;
  std::size_t count;  ///< elements of a block
  std::uint32_t root;
  bool in_place;
};

/// `Library` has rank(), ranks(), supports(const Case&), run(const Call&), barrier(). Failures end the process.
template <class Library>
class Driver {
 public:
  Driver(Library& library, RankLink& link, Allocator allocator = plain_memory) : library_(library), link_(link), buffers_(std::move(allocator)) {}

  void serve() {
    for (;;) {
      const Command command = link_.next();
      switch (command.kind) {
        case Command::Kind::quit:
          return;
        case Command::Kind::supports:
          link_.reply({0, library_.supports(command.what) ? 0U : 1U});
          break;
        case Command::Kind::check:
          link_.reply({0, check(command)});
          break;
        case Command::Kind::measure:
          link_.reply({measure(command), 0});
          break;
      }
      if (command.release != 0) buffers_.release();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double ns_between(Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double, std::nano>(end - start).count();
  }

  Call prepare(const Case& what) {
    buffers_.reserve(what);
    const std::uint32_t rank = library_.rank();
    const std::uint32_t ranks = library_.ranks();
    return {what.operation,
            what.type,
            buffers_.input(what, rank, ranks),
            buffers_.output(what, rank, ranks),
            extent_of(what, ranks).block,
            0,
            what.in_place != 0};
  }

  std::uint64_t check(const Command& command) {
    const Call call = prepare(command.what);
    const std::uint32_t rank = library_.rank();
    const Extent extent = extent_of(command.what, library_.ranks());
    set_all(call.type, call.output, extent.output, -1);  // or an earlier check's results would pass
    fill(call.type, call.input, extent.input, rank);
    library_.barrier();
    library_.run(call);
    const std::uint64_t wrong = count_wrong(command.what, call.output, rank, library_.ranks());
    set_all(call.type, call.input, extent.input, 0);  // sums of sums in place stay zero
    return wrong;
  }

  double measure(const Command& command) {
    Call call = prepare(command.what);
    for (std::uint32_t i = 0; i < command.warm_up; ++i) run_next(call);
    std::vector<double> batches(std::max(1U, command.batches));
    for (double& ns : batches) {
      library_.barrier();
      ns = (command.what.touch + command.what.barrier != 0 ? one_by_one(call, command) : in_a_row(call, command)) / command.iterations;
    }
    const auto middle = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2);
    std::nth_element(batches.begin(), middle, batches.end());
    return *middle;
  }

  double in_a_row(Call& call, const Command& command) {
    const auto start = Clock::now();
    for (std::uint32_t i = 0; i < command.iterations; ++i) run_next(call);
    return ns_between(start, Clock::now());
  }

  double one_by_one(Call& call, const Command& command) {
    const std::size_t inputs = extent_of(command.what, library_.ranks()).input;
    double ns = 0;
    for (std::uint32_t i = 0; i < command.iterations; ++i) {
      if (command.what.touch != 0) set_all(call.type, call.input, inputs, static_cast<float>(i & 3));
      if (command.what.barrier != 0) library_.barrier();
      const auto start = Clock::now();
      run_next(call);
      ns += ns_between(start, Clock::now());
    }
    return ns;
  }

  // Roots rotate, as nobody broadcasts from one rank for ever.
  void run_next(Call& call) {
    if (is_rooted(call.operation)) call.root = call.root + 1 == library_.ranks() ? 0 : call.root + 1;
    library_.run(call);
  }

  Library& library_;
  RankLink& link_;
  Buffers buffers_;
};

}  // namespace compare
