#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <type_traits>

#include "benchmarks/support/uneven.hpp"
#include "data.hpp"
#include "timeline.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using rondo::Collective;
using rondo::Result;

constexpr std::uint64_t most_traced = 20;  ///< calls of a measurement that the timeline shows
constexpr std::uint32_t least_warmup = 5;
constexpr double steady_us = 20'000;  ///< how long a measurement lasts when the iterations aren't given

using Memory = std::shared_ptr<void>;

/// Symmetric or ordinary malloc memory, touched so that the first call doesn't pay for page faults; null when there is none.
Memory allocate(rondo::Communicator& communicator, bool symmetric, std::uint64_t bytes) {
  Memory memory;
  if (symmetric) {
    if (auto taken = communicator.allocate(bytes)) memory = std::move(*taken);
  } else {
    memory.reset(std::malloc(std::max<std::uint64_t>(bytes, 1)), std::free);
  }
  if (memory) std::memset(memory.get(), 0x5a, bytes);
  return memory;
}

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// Every rank's value, through a collective other than the measured one: the plan under test may be a wrong one.
template <class T>
Result<std::vector<T>> from_all_ranks(rondo::Communicator& communicator, Collective measured, T value) {
  constexpr auto type = std::is_same_v<T, double> ? rondo::DataType::f64 : rondo::DataType::u64;
  std::vector<T> values(communicator.size());
  if (measured != Collective::all_gather) {
    if (auto done = communicator.all_gather(&value, values.data(), 1, type); !done) return done.error();
    return values;
  }
  values[communicator.rank()] = value;
  if (auto done = communicator.all_reduce(values.data(), values.data(), values.size(), type); !done)
    return done.error();
  return values;
}

Result<double> largest(rondo::Communicator& communicator, Collective measured, double value) {
  auto values = from_all_ranks(communicator, measured, value);
  if (!values) return values.error();
  return *std::max_element(values->begin(), values->end());
}

class Measurement {
 public:
  Measurement(rondo::Communicator& communicator, const Options& options, const Shape& shape, bool in_place)
      : communicator_(communicator), options_(options), shape_(shape) {
    const auto blocks = rondo::block_counts(shape.collective, shape.ranks);
    const std::uint64_t block_bytes = shape.count * rondo::size_of(shape.type);
    input_bytes_ = block_bytes * blocks.input;
    const std::uint64_t output_bytes = block_bytes * blocks.output;
    first_ = allocate(communicator, options.symmetric, in_place ? std::max(input_bytes_, output_bytes) : input_bytes_);
    if (!in_place) second_ = allocate(communicator, options.symmetric, output_bytes);
    input_ = output_ = static_cast<char*>(first_.get());
    if (!in_place)
      output_ = static_cast<char*>(second_.get());
    else if (rondo::input_is_block(shape.collective))
      input_ += shape.rank * block_bytes;
    else if (rondo::output_is_block(shape.collective))
      output_ += shape.rank * block_bytes;
    if (shape.collective == Collective::all_to_all_v) uneven_ = bench_support::uneven_blocks<std::uint64_t>(shape.count, shape.rank, shape.ranks);
  }

  /// Whether all ranks have memory. They tell one another, since one that went on would wait for those that had to give up.
  Result<bool> ready() {
    const bool mine = input_ != nullptr && output_ != nullptr;
    auto missing = largest(communicator_, shape_.collective, mine ? 0 : 1);
    if (!missing) return missing.error();
    return *missing == 0;
  }

  /// The algorithm that the calls run; empty when it can't with buffers that lie so.
  Result<std::string> plan() {
    const bool in_place = second_ == nullptr;
    if (shape_.collective == Collective::send_recv) return std::string(in_place ? "" : "send_recv");  // each pair of ranks has a plan of its own
    const auto plan = communicator_.plan_for(this_call());
    if (!plan) return plan.error();
    return (in_place ? plan->header.in_place : plan->header.out_of_place) ? plan->header.algorithm : "";
  }

  /// Calls for the timeline: as many as there is room for, on the rank with the most events.
  Result<void> record(rondo::Trace& trace) {
    auto first = traced(1);
    if (!first) return first.error();
    auto events = largest(communicator_, shape_.collective, static_cast<double>(first->events.size() + first->dropped));
    if (!events) return events.error();
    trace.append(std::move(*first));
    // Twice: each step may come with one more event when it has to wait for something.
    const auto fit = static_cast<std::uint64_t>(static_cast<double>(timeline_events) / (2 * std::max(*events, 1.0)));
    if (fit == 0) return {};
    auto more = traced(std::min(fit, most_traced - 1));
    if (!more) return more.error();
    trace.append(std::move(*more));
    return {};
  }

  Result<Timing> run() {
    Timing timing;
    if (auto warmed = warm_up(timing); !warmed) return warmed.error();
    auto mean = options_.touch ? timed_singly(timing.iterations, nullptr) : timed_together(timing.iterations);
    if (!mean) return mean.error();
    auto slowest = largest(communicator_, shape_.collective, *mean);
    if (!slowest) return slowest.error();
    timing.time_us = *slowest;
    if (options_.percentiles) {
      std::vector<double> times;
      if (auto single = timed_singly(timing.iterations, &times); !single) return single.error();
      std::sort(times.begin(), times.end());
      for (const double share : {0.5, 0.9, 0.99}) {
        auto percentile = largest(communicator_, shape_.collective,
                                  times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
        if (!percentile) return percentile.error();
        timing.percentiles_us.push_back(*percentile);
      }
    }
    if (options_.check && shape_.collective != Collective::barrier) {
      auto wrong = check();
      if (!wrong) return wrong.error();
      timing.wrong = *wrong;
    }
    return timing;
  }

 private:
  Result<void> call() {
    switch (shape_.collective) {
      case Collective::send_recv: return exchange();
      case Collective::all_to_all_v: return communicator_.all_to_all_v(input_, {uneven_.sent}, output_, {uneven_.received}, shape_.type);
      default: return communicator_.run(this_call());
    }
  }

  Result<rondo::Trace> traced(std::uint64_t calls) {
    if (auto done = communicator_.barrier(); !done) return done.error();
    if (auto started = communicator_.start_trace(timeline_events); !started) return started.error();
    for (std::uint64_t i = 0; i < calls; ++i)
      if (auto done = call(); !done) return done.error();
    return communicator_.stop_trace();
  }

  rondo::Call this_call() const {
    rondo::Call call;
    call.collective = shape_.collective;
    call.input = input_;
    call.output = output_;
    call.count = shape_.count;
    call.type = shape_.type;
    call.op = shape_.op;
    call.root = shape_.root;
    call.scale = factor_of(shape_, shape_.rank);
    return call;
  }

  /// As in nccl-tests' sendrecv: every rank sends to the next and receives from the previous one, in a group.
  Result<void> exchange() {
    const std::uint32_t next = (shape_.rank + 1) % shape_.ranks;
    const std::uint32_t previous = (shape_.rank + shape_.ranks - 1) % shape_.ranks;
    communicator_.group_begin();
    const rondo::Work sent = communicator_.start_send(input_, shape_.count, shape_.type, next);
    const rondo::Work received = communicator_.start_recv(output_, shape_.count, shape_.type, previous);
    return communicator_.group_end();
  }

  /// Warms up and, from the last call's time, chooses how many iterations make a steady measurement. Slots and their page tables are new to the first
  /// calls of a communicator: 350 reductions of 256 KiB took 4.5 ms more behind 6 calls than behind 1000.
  Result<void> warm_up(Timing& timing) {
    double last_us = 0;
    for (std::uint32_t i = 0; i < options_.warmup.value_or(least_warmup) + 1; ++i) {
      const auto begin = Clock::now();
      if (auto done = call(); !done) return done;
      last_us = microseconds(Clock::now() - begin);
    }
    auto chosen = iterations_of(last_us);
    if (!chosen) return chosen.error();
    timing.iterations = *chosen;
    if (options_.warmup) return {};
    auto mean = timed_together(std::max(1u, timing.iterations / 2));
    if (!mean) return mean.error();
    chosen = iterations_of(*mean);
    if (!chosen) return chosen.error();
    timing.iterations = *chosen;
    return {};
  }

  /// As many calls of `call_us` as make a steady measurement, if nobody says how many.
  Result<std::uint32_t> iterations_of(double call_us) {
    if (options_.iterations != 0) return options_.iterations;
    auto slowest = largest(communicator_, shape_.collective, call_us);
    if (!slowest) return slowest.error();
    return static_cast<std::uint32_t>(std::clamp(steady_us / std::max(*slowest, 0.05), 20.0, 100'000.0));
  }

  Result<double> timed_together(std::uint32_t iterations) {
    if (auto done = communicator_.barrier(); !done) return done.error();
    const auto begin = Clock::now();
    for (std::uint32_t i = 0; i < iterations; ++i)
      if (auto done = call(); !done) return done.error();
    return microseconds(Clock::now() - begin) / iterations;
  }

  /// Each call timed by itself; the owner writes its input before, outside the clock. Returns the mean.
  Result<double> timed_singly(std::uint32_t iterations, std::vector<double>* times) {
    double total = 0;
    for (std::uint32_t i = 0; i < iterations; ++i) {
      if (options_.touch) std::memset(input_, static_cast<int>(i & 0x3f), input_bytes_);
      if (auto done = communicator_.barrier(); !done) return done.error();
      const auto begin = Clock::now();
      if (auto done = call(); !done) return done.error();
      const double taken = microseconds(Clock::now() - begin);
      total += taken;
      if (times != nullptr) times->push_back(taken);
    }
    return total / iterations;
  }

  /// One more call on fresh random data, compared with the reference; wrong elements of all ranks.
  Result<std::uint64_t> check() {
    const std::uint64_t seed = 0x5eed + shape_.count;
    const bool reads = shape_.rank == shape_.root || (shape_.collective != Collective::broadcast && shape_.collective != Collective::scatter);
    if (reads) fill_input(shape_, seed, input_);
    if (auto done = call(); !done) return done.error();
    const std::uint64_t own = count_wrong(shape_, seed, output_);
    auto counts = from_all_ranks(communicator_, shape_.collective, own);
    if (!counts) return counts.error();
    return std::accumulate(counts->begin(), counts->end(), std::uint64_t{0});
  }

  rondo::Communicator& communicator_;
  const Options& options_;
  const Shape shape_;
  std::uint64_t input_bytes_ = 0;
  Memory first_, second_;
  char* input_ = nullptr;
  char* output_ = nullptr;
  bench_support::Uneven<std::uint64_t> uneven_;  // all_to_all_v
};

Shape shape_of(const rondo::Communicator& communicator, const Options& options, std::uint64_t bytes) {
  Shape shape{options.collective, options.type, options.op, communicator.size(), communicator.rank(), options.root, 0};
  if (!rondo::is_reduction(shape.collective)) shape.op = rondo::ReduceOp::sum;
  const auto blocks = rondo::block_counts(shape.collective, shape.ranks);
  shape.count = bytes / rondo::size_of(shape.type) / std::max(blocks.input, blocks.output);
  return shape;
}

}  // namespace

double bus_factor(Collective collective, std::uint32_t ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::all_to_all_v:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

std::vector<const Timing*> Row::timings() const {
  std::vector<const Timing*> result;
  if (out_of_place) result.push_back(&*out_of_place);
  if (in_place) result.push_back(&*in_place);
  return result;
}

std::optional<std::uint64_t> Row::wrong() const {
  std::optional<std::uint64_t> wrong;
  for (const Timing* timing : timings())
    if (timing->wrong) wrong = wrong.value_or(0) + *timing->wrong;
  return wrong;
}

Result<Row> measure(rondo::Communicator& communicator, const Options& options, std::uint64_t bytes, rondo::Trace& trace) {
  const Shape shape = shape_of(communicator, options, bytes);
  const auto blocks = rondo::block_counts(shape.collective, shape.ranks);
  Row row;
  row.count = shape.count;
  row.bytes = shape.count * rondo::size_of(shape.type) * std::max(blocks.input, blocks.output);
  for (const bool in_place : {false, true}) {
    Measurement measurement(communicator, options, shape, in_place);
    auto ready = measurement.ready();
    if (!ready) return ready.error();
    if (!*ready)
      return rondo::Error{rondo::Errc::out_of_resources, "no memory for buffers of " + std::to_string(row.bytes) + " bytes on each of " +
                          std::to_string(shape.ranks) + " ranks; take a smaller -e", 0, "rondo-bench"};
    auto plan = measurement.plan();
    if (!plan) return plan.error();
    if (plan->empty()) continue;  // it doesn't serve buffers that lie so
    if (row.plan != *plan) row.plan += (row.plan.empty() ? "" : ", in place ") + *plan;
    auto timing = measurement.run();
    if (!timing) return timing.error();
    if (!options.trace_file.empty())
      if (auto traced = measurement.record(trace); !traced) return traced.error();
    timing->algbw_gbps = static_cast<double>(row.bytes) / timing->time_us / 1e3;
    timing->busbw_gbps = timing->algbw_gbps * bus_factor(shape.collective, shape.ranks);
    (in_place ? row.in_place : row.out_of_place) = std::move(*timing);
  }
  return row;
}
