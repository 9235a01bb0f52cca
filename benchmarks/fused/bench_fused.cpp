// bench_fused: the tensors of a bucket reduced as one call, and in the other ways that a program has: by a flat buffer that they are copied into and
// out of, and by a call for each. Ranks are processes, each on a core of its own while there are enough; the ways take turns.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
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

constexpr std::uint64_t coalesced_bytes = 1u << 20;

struct Options {
  std::uint32_t ranks = 2;
  std::uint32_t rounds = 31;
  std::uint64_t bytes = 25'000'000;
  std::vector<std::uint32_t> tensors = {20, 50, 100, 200};
};

/// Gradients in place: a few large tensors, many small ones.
class Bucketful {
 public:
  Bucketful(std::uint64_t bytes, std::uint32_t tensors) : flat_(bytes / sizeof(float)) {
    std::mt19937_64 random(tensors);  // the same on all ranks
    std::vector<double> weights(tensors);
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(static_cast<double>(random() % 1000) / 200);
    std::uint64_t rest = flat_.size();
    for (std::uint32_t t = 0; t < tensors; ++t) {
      const auto share = static_cast<std::uint64_t>(static_cast<double>(flat_.size()) * weights[t] / sum);
      data_.emplace_back(t + 1 == tensors ? rest : std::min(rest, share), 1.0f);
      rest -= data_.back().size();
      list_.push_back({data_.back().data(), data_.back().data(), data_.back().size()});
    }
  }

  Result<void> fused(Communicator& communicator, std::optional<DataType> wire) const {
    return communicator.all_reduce_fused({list_, DataType::f32, ReduceOp::avg, 1, wire});
  }

  Result<void> by_flat_buffer(Communicator& communicator) {
    float* at = flat_.data();
    for (const auto& tensor : data_) at = std::copy(tensor.begin(), tensor.end(), at);
    if (auto done = communicator.all_reduce(flat_.data(), flat_.data(), flat_.size(), DataType::f32, ReduceOp::avg); !done) return done;
    at = flat_.data();
    for (auto& tensor : data_) {
      std::copy_n(at, tensor.size(), tensor.begin());
      at += tensor.size();
    }
    return {};
  }

  Result<void> one_by_one(Communicator& communicator) {
    for (auto& tensor : data_)
      if (auto done = communicator.all_reduce(tensor.data(), tensor.data(), tensor.size(), DataType::f32, ReduceOp::avg); !done) return done;
    return {};
  }

  Result<void> started(Communicator& communicator) {
    std::vector<Work> works;
    for (auto& tensor : data_)
      works.push_back(communicator.start(Call{Collective::all_reduce, tensor.data(), tensor.data(), tensor.size(), DataType::f32, ReduceOp::avg}));
    for (Work& work : works)
      if (auto done = work.wait(); !done) return done;
    return {};
  }

 private:
  std::vector<float> flat_;
  std::vector<std::vector<float>> data_;
  std::vector<Tensor> list_;
};

struct Way {
  const char* name;
  std::function<Result<void>()> call;
  std::vector<double> us;
};

class Rank {
 public:
  Rank(Communicator& communicator, Communicator& coalescing, const Options& options)
      : communicator_(communicator), coalescing_(coalescing), options_(options) {}

  void run() {
    if (communicator_.rank() == 0)
      std::printf("%.1f MB over %u ranks; medians of %u rounds, and of their ratios to the fused call\n", static_cast<double>(options_.bytes) / 1e6,
                  options_.ranks, options_.rounds);
    for (const std::uint32_t tensors : options_.tensors) measure(tensors);
  }

 private:
  void require(const Result<void>& done) {
    if (done) return;
    std::fprintf(stderr, "bench_fused: rank %u: %s\n", communicator_.rank(), to_string(done.error()).c_str());
    std::_Exit(1);
  }

  void measure(std::uint32_t tensors) {
    Bucketful bucket(options_.bytes, tensors);
    std::vector<Way> ways{{"fused", [&] { return bucket.fused(communicator_, std::nullopt); }, {}},
                          {"fused by way of bf16", [&] { return bucket.fused(communicator_, DataType::bf16); }, {}},
                          {"by a flat buffer", [&] { return bucket.by_flat_buffer(communicator_); }, {}},
                          {"one by one", [&] { return bucket.one_by_one(communicator_); }, {}},
                          {"one by one, started", [&] { return bucket.started(communicator_); }, {}},
                          {"the same, coalesced", [&] { return bucket.started(coalescing_); }, {}}};
    std::mt19937 random(1);  // the same on all ranks
    std::vector<std::size_t> order(ways.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::uint32_t round = 0; round <= options_.rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);  // a way may leave the caches, or a thread, to the one behind it
      for (const std::size_t which : order) {
        Way& way = ways[which];
        require(communicator_.barrier());
        const auto begin = Clock::now();
        require(way.call());
        const double own = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        double most = 0;
        require(communicator_.all_reduce(&own, &most, 1, DataType::f64, ReduceOp::max));
        if (round != 0) way.us.push_back(most);  // the first one warms up
      }
    }
    if (communicator_.rank() != 0) return;
    std::printf("%u tensors\n", tensors);
    for (const Way& way : ways) {
      std::vector<double> ratios;
      for (std::uint32_t round = 0; round < options_.rounds; ++round) ratios.push_back(way.us[round] / ways[0].us[round]);
      std::printf("  %-22s %9.0f us  %5.2f\n", way.name, median(way.us), median(ratios));
    }
  }

  Communicator& communicator_;
  Communicator& coalescing_;
  const Options& options_;
};

int run_rank(std::uint32_t rank, const Options& options, const std::string& job) {
  bench_support::pin_to_core(rank);
  CommunicatorOptions coalescing;
  coalescing.coalesce_bytes = coalesced_bytes;
  coalescing.coalesce_time = std::chrono::milliseconds(1);
  auto communicator = Communicator::local(rank, options.ranks, job);
  auto other = Communicator::local(rank, options.ranks, job + "-coalescing", coalescing);
  for (const auto* made : {&communicator, &other}) {
    if (*made) continue;
    std::fprintf(stderr, "bench_fused: rank %u: %s\n", rank, to_string(made->error()).c_str());
    return 1;
  }
  Rank(*communicator, *other, options).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"What a list of tensors costs as one call, and by way of a flat buffer or of a call for each"};
  app.add_option("-n,--ranks", options.ranks, "ranks, as processes")->check(tool_support::whole_number(2, 64));
  app.add_option("--rounds", options.rounds, "turns of each way; medians are printed")->check(tool_support::whole_number(1, 10'000));
  app.add_option("--bytes", options.bytes, "of all tensors together, of f32")->check(tool_support::whole_number(4, std::uint64_t{1} << 34));
  app.add_option("--tensors", options.tensors, "how many; several are measured one after the other")->check(tool_support::whole_number(1, 100'000));
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "bench_fused", status)) return status;
  const std::string job = "bench-fused-" + std::to_string(getpid());
  const auto ended = bench_support::run_as_processes(options.ranks, [&](std::uint32_t rank) { return run_rank(rank, options, job); });
  return ended == bench_support::Ended::well ? 0 : 1;
}
