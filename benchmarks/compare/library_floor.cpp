// The hand-written exchanges as a participant: what a plan is held against. Settings: one-shot, two-shot.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "compare/driver.hpp"
#include "floor/exchange.hpp"
#include "support/cores.hpp"

namespace {

class Floor {
 public:
  Floor(const compare::RankOptions& options, floor_bench::Region& region)
      : rank_(options.rank),
        ranks_(options.ranks),
        two_shot_(options.setting == "two-shot"),
        exchange_(region, options.rank, options.ranks, options.ranks > bench_support::usable_cores()) {}

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  bool supports(const compare::Case& what) const {
    return what.operation == compare::Operation::all_reduce && what.type == compare::Type::f32;
  }
  void barrier() { exchange_.barrier(); }

  // The shapes that bench_floor found best: see its cases.
  void run(const compare::Call& call) {
    const auto* input = static_cast<const float*>(call.input);
    auto* output = static_cast<float*>(call.output);
    const std::size_t bytes = call.count * sizeof(float);
    floor_bench::Shape shape;
    shape.streaming = !call.in_place && bytes >= (std::size_t{32} << 20);
    shape.skewed = bytes >= (std::size_t{4} << 20);
    shape.piece_bytes = std::size_t{two_shot_ ? 256U : 128U} << 10;
    if (bytes <= 8) {
      exchange_.tiny(input, output, call.count);
    } else if (two_shot_) {
      exchange_.two_shot(input, output, call.count, shape);
    } else {
      exchange_.one_shot(input, output, call.count, shape);
    }
  }

 private:
  std::uint32_t rank_;
  std::uint32_t ranks_;
  bool two_shot_;
  floor_bench::Exchange exchange_;
};

}  // namespace

int main(int argc, char** argv) {
  const compare::RankOptions options = compare::parse_rank_options(argc, argv);
  compare::die_with_parent();
  void* memory = mmap(nullptr, sizeof(floor_bench::Region), PROT_READ | PROT_WRITE, MAP_SHARED, options.region, 0);
  if (memory == MAP_FAILED) {
    std::perror("compare_floor: mmap");
    return 1;
  }
  Floor library(options, *static_cast<floor_bench::Region*>(memory));
  compare::pin_rank(options.rank);
  compare::RankLink link(options, options.rank, "hand-written");
  compare::Driver<Floor>(library, link).serve();
  return 0;
}
