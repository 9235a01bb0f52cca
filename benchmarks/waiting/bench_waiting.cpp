// bench_waiting: what waiting costs. Ranks are processes, each on a core of its own while there are enough: the processor time of a wait, of a
// started call that waits, and of a communicator at rest; how long a rank that waited takes to see the one that came late; and a matrix
// product beside a started all-reduce on the same cores.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "rondo/communicator.hpp"
#include "support/cores.hpp"
#include "support/median.hpp"
#include "support/processes.hpp"
#include "tools/support/flags.hpp"

namespace {

using namespace rondo;
using bench_support::median;
using Clock = std::chrono::steady_clock;

struct Options {
  std::uint32_t ranks = 2;
  std::uint32_t rounds = 15;
  std::uint32_t product = 640;  ///< rows and columns
};

double ms_since(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

double cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& time) { return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3; };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

void sleep_ms(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

class Rank {
 public:
  Rank(Communicator& communicator, const Options& options)
      : communicator_(communicator), options_(options), a_(std::size_t{options.product} * options.product, 1.5f), b_(a_), c_(a_) {}

  void run() {
    waits();
    rest();
    for (const std::uint64_t bytes : {std::uint64_t{64} << 10, std::uint64_t{4} << 20, std::uint64_t{64} << 20}) overlap(bytes);
  }

 private:
  bool first() const { return communicator_.rank() == 0; }

  void require(const Result<void>& done) {
    if (done) return;
    std::fprintf(stderr, "bench_waiting: rank %u: %s\n", communicator_.rank(), to_string(done.error()).c_str());
    std::_Exit(1);
  }

  /// The last rank comes `late_ms` late; rank 0's processor time meanwhile, and when it goes on.
  void waits() {
    if (first()) std::printf("%-44s %10s %14s\n", "rank 0 waits for a rank that is late by", "cpu used", "goes on after");
    for (const bool started : {false, true})
      for (const double late_ms : {0.5, 5.0, 50.0, 300.0}) {
        std::vector<double> cpu, after_us;
        for (std::uint32_t round = 0; round < options_.rounds; ++round) {
          require(communicator_.barrier());
          sleep_ms(1);
          require(communicator_.barrier());
          const bool late = communicator_.rank() + 1 == communicator_.size();
          const auto begin = Clock::now();
          const double cpu_before = cpu_ms();
          if (late) sleep_ms(late_ms);
          const std::int64_t came = Clock::now().time_since_epoch().count();  // one clock for all processes of a machine
          std::int64_t latest = late ? came : 0, seen = 0;
          const Call call{Collective::all_reduce, &latest, &seen, 1, DataType::i64, ReduceOp::max};
          require(started ? communicator_.start(call).wait() : communicator_.run(call));
          after_us.push_back(static_cast<double>(Clock::now().time_since_epoch().count() - seen) / 1e3);
          cpu.push_back((cpu_ms() - cpu_before) / ms_since(begin));
        }
        if (first())
          std::printf("  %6.1f ms, %-30s %9.0f %% %11.1f us\n", late_ms, started ? "in a started call's wait()" : "in a call", 100 * median(cpu),
                      median(after_us));
      }
    for (const double late_ms : {5.0, 50.0, 300.0}) {  // nobody waits for the call but the library's own thread
      std::vector<double> cpu;
      for (std::uint32_t round = 0; round < options_.rounds; ++round) {
        require(communicator_.barrier());
        const bool late = communicator_.rank() + 1 == communicator_.size();
        float value = 1;
        const double cpu_before = cpu_ms();
        const auto begin = Clock::now();
        if (late) sleep_ms(late_ms);
        Work work = communicator_.start(Call{Collective::all_reduce, &value, &value, 1});
        if (!late) sleep_ms(late_ms);
        cpu.push_back((cpu_ms() - cpu_before) / ms_since(begin));
        require(work.wait());
      }
      if (first()) std::printf("  %6.1f ms, %-30s %9.0f %%\n", late_ms, "in the progress thread alone", 100 * median(cpu));
    }
  }

  void rest() {
    require(communicator_.barrier());
    const double before = cpu_ms();
    const auto begin = Clock::now();
    sleep_ms(500);
    if (first()) std::printf("  %-41s %9.2f %%\n", "at rest, after started calls", 100 * (cpu_ms() - before) / ms_since(begin));
  }

  /// c = a b, by rows: what a program computes while a call is under way.
  void multiply() {
    const std::size_t n = options_.product;
    for (std::size_t i = 0; i < n; ++i) {
      std::fill_n(&c_[i * n], n, 0.0f);
      for (std::size_t k = 0; k < n; ++k) {
        const float factor = a_[i * n + k];
        for (std::size_t j = 0; j < n; ++j) c_[i * n + j] += factor * b_[k * n + j];
      }
    }
    a_[0] = c_[n * n - 1] > 0 ? 1.5f : 0;  // somebody needs the result
  }

  /// Median times of all ranks' slowest, and what both together take to one after the other.
  void overlap(std::uint64_t bytes) {
    std::vector<float> data(bytes / 4, 1.0f);
    const Call call{Collective::all_reduce, data.data(), data.data(), data.size(), DataType::f32, ReduceOp::max};
    std::vector<double> product, reduction, product_beside, both, ratio;
    for (std::uint32_t round = 0; round <= options_.rounds; ++round) {
      require(communicator_.barrier());
      auto begin = Clock::now();
      multiply();
      const double alone = slowest(ms_since(begin));
      begin = Clock::now();
      require(communicator_.run(call));
      const double reduced = slowest(ms_since(begin));
      begin = Clock::now();
      Work work = communicator_.start(call);
      multiply();
      const double beside = ms_since(begin);
      require(work.wait());
      const double together = slowest(ms_since(begin));
      if (round == 0) continue;  // pages, plans, the thread
      product.push_back(alone);
      reduction.push_back(reduced);
      product_beside.push_back(slowest(beside));
      both.push_back(together);
      ratio.push_back(together / (alone + reduced));
    }
    if (!first()) return;
    if (bytes == 64u << 10)
      std::printf("%-20s %12s %12s %14s %12s %16s\n", "all_reduce of", "product", "all_reduce", "product beside", "both", "both / sum");
    std::printf("  %10llu bytes   %9.2f ms %9.3f ms %11.2f ms %9.2f ms %12.2f\n", static_cast<unsigned long long>(bytes), median(product), median(reduction),
                median(product_beside), median(both), median(ratio));
  }

  double slowest(double own) {
    double most = 0;
    require(communicator_.all_reduce(&own, &most, 1, DataType::f64, ReduceOp::max));
    return most;
  }

  Communicator& communicator_;
  const Options& options_;
  std::vector<float> a_, b_, c_;
};

int run_rank(std::uint32_t rank, const Options& options, const std::string& job) {
  bench_support::pin_to_core(rank);
  auto communicator = Communicator::local(rank, options.ranks, job);
  if (!communicator) {
    std::fprintf(stderr, "bench_waiting: rank %u: %s\n", rank, to_string(communicator.error()).c_str());
    return 1;
  }
  Rank(*communicator, options).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"What waiting costs in processor time, and what it leaves to a computation on the same cores"};
  app.add_option("-n,--ranks", options.ranks, "ranks, as processes")->check(tool_support::whole_number(2, 64));
  app.add_option("--rounds", options.rounds, "measurements of each figure; medians are printed")->check(tool_support::whole_number(1, 1000));
  app.add_option("--product", options.product, "rows and columns of the matrices")->check(tool_support::whole_number(16, 4096));
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "bench_waiting", status)) return status;
  const std::string job = "bench-waiting-" + std::to_string(getpid());
  const auto ended = bench_support::run_as_processes(options.ranks, [&](std::uint32_t rank) { return run_rank(rank, options, job); });
  return ended == bench_support::Ended::well ? 0 : 1;
}
