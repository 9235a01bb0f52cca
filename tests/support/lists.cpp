#include "support/lists.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

using namespace rondo;

namespace {

/// Where the tensors end, in elements: many in one place, so that there are empty ones.
std::vector<std::uint64_t> random_cuts(std::uint64_t count, std::uint32_t tensors, std::mt19937_64& random) {
  std::vector<std::uint64_t> ends;
  for (std::uint32_t t = 1; t < tensors; ++t) {
    const std::uint64_t last = ends.empty() ? 0 : ends.back();
    ends.push_back(random() % 4 == 0 ? std::min(last + random() % 2, count) : random() % (count + 1));
  }
  ends.push_back(count);
  std::sort(ends.begin(), ends.end());
  return ends;
}

/// Tensors in an arena of their own.
struct Scattered {
  std::vector<char> arena;
  std::vector<Tensor> tensors;
};

/// The elements of `flat`, cut at `ends`.
Scattered scatter(const std::vector<char>& flat, const std::vector<std::uint64_t>& ends, std::uint64_t element, std::mt19937_64& random) {
  Scattered lists;
  lists.tensors.resize(ends.size());
  std::vector<std::size_t> order(ends.size());
  for (std::size_t t = 0; t < ends.size(); ++t) {
    order[t] = t;
    lists.tensors[t].count = ends[t] - (t == 0 ? 0 : ends[t - 1]);
  }
  if (random() % 3 != 0) std::shuffle(order.begin(), order.end(), random);  // else views of one buffer, where there is no gap
  const bool gaps = random() % 2 == 0;
  lists.arena.assign(2 * flat.size() + 8 * element * (ends.size() + 1), 0x5a);
  char* at = lists.arena.data();
  const auto take = [&](std::uint64_t count) {
    char* const taken = at + (gaps ? random() % 4 * element : 0);
    at = taken + count * element;
    return taken;
  };
  for (const std::size_t t : order) {
    Tensor& tensor = lists.tensors[t];
    if (tensor.count == 0) continue;
    char* const input = take(tensor.count);
    std::memcpy(input, flat.data() + (t == 0 ? 0 : ends[t - 1]) * element, tensor.count * element);
    tensor.input = tensor.output = input;
    if (random() % 2 == 0) tensor.output = take(tensor.count);
  }
  return lists;
}

Result<void> make(Communicator& communicator, const Bucket& bucket, Way way) {
  if (way == Way::run) return communicator.all_reduce_fused(bucket);
  if (way == Way::start) return communicator.start_all_reduce_fused(bucket).wait();
  communicator.group_begin();
  (void)communicator.all_reduce_fused(bucket);  // within a group all is told at its end
  return communicator.group_end();
}

}  // namespace

std::string reduce_list(Communicator& communicator, ListTrial trial) {
  Shape& shape = trial.shape;
  shape.collective = Collective::all_reduce;
  shape.ranks = communicator.size();
  shape.rank = communicator.rank();
  const std::uint64_t element = size_of(shape.type);
  const std::string name = "list of " + std::to_string(shape.count) + " " + std::string(to_string(shape.type)) + " " + std::string(to_string(shape.op)) +
                           ", " + std::to_string(trial.tensors) + " tensors, seed " + std::to_string(trial.seed);
  std::vector<char> flat(shape.count * element), right(shape.count * element);
  fill_input(shape, trial.seed, flat.data());
  const double factor = shape.op == ReduceOp::premul_sum ? factor_of(shape, shape.rank) : 1;
  const Tensor whole[] = {{flat.data(), right.data(), shape.count}};
  const Call call{Collective::all_reduce, flat.data(), right.data(), shape.count, shape.type, shape.op, 0, factor};
  const auto plain = trial.against_plain ? communicator.run(call) : communicator.all_reduce_fused({whole, shape.type, shape.op, factor});
  if (!plain) return name + ", plain: " + to_string(plain.error());
  if (const std::uint64_t wrong = count_wrong(shape, trial.seed, right.data()); wrong != 0) return name + ", plain: " + std::to_string(wrong) + " wrong";

  std::mt19937_64 random(trial.seed * 64 + shape.rank);
  const std::vector<std::uint64_t> ends = random_cuts(shape.count, trial.tensors, random);
  Scattered lists = scatter(flat, ends, element, random);
  std::vector<char> expected = lists.arena;
  for (std::size_t t = 0; t < ends.size(); ++t)
    if (const Tensor& tensor = lists.tensors[t]; tensor.count != 0)
      std::memcpy(expected.data() + (static_cast<char*>(tensor.output) - lists.arena.data()), right.data() + (t == 0 ? 0 : ends[t - 1]) * element,
                  tensor.count * element);
  if (auto done = make(communicator, {lists.tensors, shape.type, shape.op, factor}, trial.way); !done) return name + ": " + to_string(done.error());
  return expected == lists.arena ? "" : name + ": other bits than in one buffer";
}
