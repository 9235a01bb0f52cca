// bench_floor: what hand-written all-reduces over shared memory take on this machine, in ns per operation.
// Every block of measurements stands between two measurements of the 8-byte exchange, because virtual cores move.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "floor/exchange.hpp"
#include "floor/loops.hpp"
#include "support/clock.hpp"
#include "support/cores.hpp"
#include "support/median.hpp"
#include "tools/support/flags.hpp"

namespace {

using floor_bench::Exchange;
using floor_bench::Region;
using floor_bench::Shape;

struct Options {
  std::uint32_t ranks = 2;
  std::uint32_t rounds = 15;
  std::string only;  // part of a case's name
};

struct Case {
  std::string name;
  std::size_t bytes;
  bool in_place;
  bool touch;  // the owner rewrites its input before each call
  std::function<void(Exchange&, const float*, float*, std::size_t)> run;
};

struct Shared {
  Region region;
  double slowest_ns[floor_bench::max_ranks];
};

using bench_support::Clock;
using bench_support::ns_since;

std::vector<std::size_t> sizes(std::size_t from, std::size_t to) {
  std::vector<std::size_t> all;
  for (std::size_t bytes = from; bytes <= to; bytes *= 4) all.push_back(bytes);
  return all;
}

void add_staged(std::vector<Case>& cases, const std::string& name, bool two_shot, std::size_t bytes,
                const Shape& shape) {
  const auto run = [two_shot, shape](Exchange& e, const float* in, float* out, std::size_t count) {
    two_shot ? e.two_shot(in, out, count, shape) : e.one_shot(in, out, count, shape);
  };
  for (const bool touch : {false, true}) cases.push_back({name, bytes, false, touch, run});
  cases.push_back({name, bytes, true, false, run});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto tiny = [](Exchange& e, const float* in, float* out, std::size_t count) { e.tiny(in, out, count); };
  cases.push_back({"tiny", 4, false, false, tiny});
  cases.push_back({"tiny", 8, false, false, tiny});
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 10, std::size_t{4} << 10, std::size_t{16} << 10}) {
    add_staged(cases, "one-shot piece 16K", false, bytes, {.piece_bytes = 16 << 10, .skewed = false});
    add_staged(cases, "two-shot piece 16K", true, bytes, {.piece_bytes = 16 << 10, .skewed = false});
  }
  for (const std::size_t bytes : sizes(64 << 10, 64 << 20)) {
    for (const std::size_t kib : {16, 32, 64, 128, 256}) {
      for (const bool skewed : {false, true}) {
        if (kib << 10 > bytes) continue;
        const std::string tail = " piece " + std::to_string(kib) + "K" + (skewed ? " skew" : "");
        const Shape shape{.piece_bytes = kib << 10, .skewed = skewed};
        add_staged(cases, "one-shot" + tail, false, bytes, shape);
        add_staged(cases, "two-shot" + tail, true, bytes, shape);
        if (bytes < (1 << 20) || !skewed) continue;
        const Shape streaming{.piece_bytes = kib << 10, .skewed = true, .streaming = true};
        add_staged(cases, "one-shot" + tail + " nt", false, bytes, streaming);
        add_staged(cases, "two-shot" + tail + " nt", true, bytes, streaming);
      }
    }
  }
  // One rank alone: how a copy compares with a sum, cached and not.
  for (const std::size_t bytes :
       {std::size_t{16} << 10, std::size_t{256} << 10, std::size_t{4} << 20, std::size_t{64} << 20}) {
    using In = const float*;
    cases.push_back({"alone: memcpy", bytes, false, false,
                     [](Exchange&, In in, float* out, std::size_t n) { std::memcpy(out, in, n * sizeof(float)); }});
    cases.push_back({"alone: copy nt", bytes, false, false,
                     [](Exchange&, In in, float* out, std::size_t n) { floor_bench::copy_streaming(out, in, n * 4); }});
    cases.push_back({"alone: out = in + half", bytes, false, false, [](Exchange&, In in, float* out, std::size_t n) {
                       floor_bench::add(out, in, in + n / 2, n / 2);
                       floor_bench::add(out + n / 2, in, in + n / 2, n / 2);
                     }});
    cases.push_back({"alone: the same nt", bytes, false, false, [](Exchange&, In in, float* out, std::size_t n) {
                       floor_bench::add_streaming(out, in, in + n / 2, n / 2);
                       floor_bench::add_streaming(out + n / 2, in, in + n / 2, n / 2);
                     }});
  }
  return cases;
}

// One rank's side of all measurements; rank 0 prints.
class Bench {
 public:
  Bench(Shared& shared, std::uint32_t rank, const Options& options)
      : shared_(shared),
        options_(options),
        rank_(rank),
        crowded_(options.ranks > bench_support::usable_cores()),
        exchange_(shared.region, rank, options.ranks, crowded_) {}

  void run(const Case& c) {
    const std::size_t count = c.bytes / sizeof(float);
    auto* in = static_cast<float*>(std::malloc(c.bytes));
    auto* out = static_cast<float*>(std::malloc(c.bytes));
    if (in == nullptr || out == nullptr) std::abort();
    for (std::size_t i = 0; i < count; ++i) in[i] = out[i] = static_cast<float>(rank_ + i % 7);
    if (!c.name.starts_with("alone")) check(c, in, out, count);
    std::vector<double> near;
    std::vector<double> far;
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      const double before = floor_ns();
      const double time = block(c, c.in_place ? out : in, out, count);
      const double after = floor_ns();
      floors_.push_back(before);
      if (before < far_from_ns && after < far_from_ns) near.push_back(time);
      if (before >= far_from_ns && after >= far_from_ns) far.push_back(time);
    }
    if (rank_ == 0) print(c, near, far);
    std::free(in);
    std::free(out);
  }

  double floor_median() const { return bench_support::median(floors_); }

 private:
  static constexpr double far_from_ns = 130;  // between the two states that were seen: 50 and 275

  void check(const Case& c, const float* in, float* out, std::size_t count) {
    c.run(exchange_, in, out, count);
    for (std::size_t i = 0; i < count; ++i) {
      float want = 0;
      for (std::uint32_t r = 0; r < options_.ranks; ++r) want += static_cast<float>(r + i % 7);
      if (out[i] == want) continue;
      std::fprintf(stderr, "bench_floor: %s, %zu bytes: element %zu is wrong\n", c.name.c_str(), c.bytes, i);
      std::_Exit(1);
    }
  }

  double slowest(double mine) {
    shared_.slowest_ns[rank_] = mine;
    exchange_.barrier();
    double most = 0;
    for (std::uint32_t r = 0; r < options_.ranks; ++r) most = std::max(most, shared_.slowest_ns[r]);
    exchange_.barrier();
    return most;
  }

  double floor_ns() {
    float in[2] = {1, 2};
    float out[2];
    const std::uint32_t iterations = crowded_ ? 200 : 2000;
    for (std::uint32_t i = 0; i < iterations / 4; ++i) exchange_.tiny(in, out, 2);
    const auto start = Clock::now();
    for (std::uint32_t i = 0; i < iterations; ++i) exchange_.tiny(in, out, 2);
    return slowest(ns_since(start) / iterations);
  }

  double block(const Case& c, float* in, float* out, std::size_t count) {
    const double guess_ns = 150 + 0.12 * static_cast<double>(c.bytes) * options_.ranks / 2;
    const auto iterations = static_cast<std::uint32_t>(std::clamp(5e6 / guess_ns, 2.0, 20000.0));
    c.run(exchange_, in, out, count);
    exchange_.barrier();
    double spent = 0;
    auto start = Clock::now();
    for (std::uint32_t i = 0; i < iterations; ++i) {
      if (c.touch) {
        for (std::size_t k = 0; k < count; ++k) in[k] = static_cast<float>(i & 3);
        start = Clock::now();
      }
      c.run(exchange_, in, out, count);
      if (c.touch) spent += ns_since(start);
    }
    return slowest((c.touch ? spent : ns_since(start)) / iterations);
  }

  void print(const Case& c, const std::vector<double>& near, const std::vector<double>& far) const {
    const auto cell = [](const std::vector<double>& v) { return v.empty() ? std::string("-") : format(bench_support::median(v)); };
    std::printf("%-30s %10zu %4s %6s %14s %14s %4zu/%zu\n", c.name.c_str(), c.bytes, c.in_place ? "in" : "out",
                c.touch ? "touch" : "", cell(near).c_str(), cell(far).c_str(), near.size(), far.size());
    std::fflush(stdout);
  }

  static std::string format(double ns) {
    char text[32];
    std::snprintf(text, sizeof text, ns < 1000 ? "%.1f" : "%.0f", ns);
    return text;
  }

  Shared& shared_;
  const Options& options_;
  std::uint32_t rank_;
  bool crowded_;
  Exchange exchange_;
  std::vector<double> floors_;
};

void run_rank(Shared& shared, std::uint32_t rank, const Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!bench_support::pin_to_core(rank)) std::perror("bench_floor: sched_setaffinity");
  Bench bench(shared, rank, options);
  if (rank == 0) {
    std::printf("%-30s %10s %4s %6s %14s %14s %s\n", "case", "bytes", "", "", "near ns/op", "far ns/op", "blocks");
  }
  for (const Case& c : all_cases()) {
    if (c.name.find(options.only) != std::string::npos) bench.run(c);
  }
  if (rank == 0) std::printf("8-byte floor over all blocks: %.1f ns (median)\n", bench.floor_median());
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What hand-written all-reduces over shared memory take on this machine");
  app.add_option("-n,--ranks", options.ranks, "processes")->check(tool_support::whole_number(2, floor_bench::max_ranks));
  app.add_option("--rounds", options.rounds, "blocks per case")->check(tool_support::whole_number(1, 1000));
  app.add_option("--only", options.only, "cases whose name contains this");
  int asked = 0;
  if (!tool_support::parse(app, argc, argv, "bench_floor", asked)) return asked;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("bench_floor: mmap");
    return 1;
  }
  auto& shared = *static_cast<Shared*>(memory);
  std::fflush(stdout);
  std::vector<pid_t> ranks;
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() == 0) run_rank(shared, rank, options);
  }
  int failed = 0;
  for (int status = 0; wait(&status) > 0 && failed == 0;) failed = status;
  if (failed != 0) {
    for (const pid_t rank : ranks) kill(rank, SIGKILL);  // the others would wait for the failed one for ever
  }
  return failed == 0 ? 0 : 1;
}
