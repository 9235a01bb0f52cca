// Lists of tensors added as a GPU's blocks do it, tile by tile, and conversions of f64.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "kernels/cuda/cast_element.hpp"
#include "kernels/cuda/lists_table.hpp"
#include "support/catch.hpp"

using namespace cuda_kernel_test;

namespace {

using rondo::CudaLists;
using namespace rondo::cuda;

/// Lists of random tensors.
template <class S, class D>
struct RandomLists {
  std::vector<std::uint64_t> counts;
  std::vector<Guarded> inputs, outputs;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  CudaLists lists;

  RandomLists(std::size_t tensors, std::uint32_t n, std::uint32_t m, bool apart, std::mt19937_64& random) {
    for (std::size_t t = 0; t < tensors; ++t) counts.push_back(random() % 8 == 0 ? tile_elements<S, D> * 2 + random() % 9 : random() % 200);
    std::vector<std::size_t> phases(tensors);
    for (std::size_t& phase : phases) phase = random() % 8;
    std::normal_distribution<float> normal(0.1f, 3.0f);
    for (std::uint32_t l = 0; l < n + m; ++l)
      for (std::size_t t = 0; t < tensors; ++t) {
        const std::size_t phase = apart ? random() % 8 : phases[t];
        if (l >= n) {
          outputs.emplace_back(counts[t] * sizeof(D), phase * sizeof(D));
          continue;
        }
        inputs.emplace_back(counts[t] * sizeof(S), phase * sizeof(S));
        for (std::uint64_t i = 0; i < counts[t]; ++i) {
          const S element = narrow<S>(random() % 16 == 0 ? -0.0f : normal(random));
          std::memcpy(inputs.back().data() + i * sizeof(S), &element, sizeof element);
        }
      }
    for (Guarded& input : inputs) sources.push_back(input.data());
    for (Guarded& output : outputs) destinations.push_back(output.data());
    lists.counts = counts.data(), lists.tensor_count = tensors;
    lists.sources = sources.data(), lists.source_count = n;
    lists.destinations = destinations.data(), lists.destination_count = m;
  }
  RandomLists(const RandomLists&) = delete;
  RandomLists& operator=(const RandomLists&) = delete;

  float right(std::size_t tensor, std::uint64_t i) const {
    std::vector<float> values;
    for (std::uint32_t s = 0; s < lists.source_count; ++s) {
      S element;
      std::memcpy(&element, inputs[s * lists.tensor_count + tensor].data() + i * sizeof(S), sizeof element);
      values.push_back(widen(element));
    }
    return along_the_tree(values, 0, values.size()) * lists.scale;
  }

 private:
  static float along_the_tree(const std::vector<float>& values, std::size_t first, std::size_t end) {
    if (end - first == 1) return values[first];
    std::size_t left = 1;
    while (left * 2 < end - first) left *= 2;
    return along_the_tree(values, first, first + left) + along_the_tree(values, first + left, end);
  }
};

/// Does what the launches of a call do; returns how many there are.
template <class S, class D>
int add_lists(const CudaLists& lists, unsigned threads) {
  int launches = 0;
  const auto table = std::make_unique<ListsTable>();
  for (std::uint64_t tensor = 0; tensor < lists.tensor_count; ++launches) {
    tensor = fill_table(*table, lists, tensor, tile_elements<S, D>);
    for (std::uint32_t number = 0; number < table->tiles; ++number) {
      const std::uint32_t mine = table->tensor_of(number);
      const std::uint64_t* addresses = table->addresses(mine);
      const std::uint64_t first = (number - table->first_tile(mine)) * tile_elements<S, D>;
      const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(table->count(mine) - first, tile_elements<S, D>));
      const Tile tile{reinterpret_cast<const void* const*>(addresses), reinterpret_cast<void* const*>(addresses + table->sources), table->sources,
                      table->destinations, first, length, table->scale};
      for (unsigned thread = 0; thread < threads; ++thread) add_tile<S, D>(tile, {thread, threads});
    }
  }
  return launches;
}

template <class S, class D>
void check_lists(std::size_t tensors, std::uint32_t n, std::uint32_t m, bool apart, std::mt19937_64& random) {
  RandomLists<S, D> data(tensors, n, m, apart, random);
  data.lists.scale = random() % 2 == 0 ? 1.0f : 0.37f;
  add_lists<S, D>(data.lists, 1 + static_cast<unsigned>(random() % 7));
  INFO(tensors << " tensors, " << n << " into " << m << (apart ? ", lying apart" : "") << ", " << sizeof(S) << " bytes to " << sizeof(D));
  std::size_t wrong = 0;
  for (std::size_t l = 0; l < m; ++l)
    for (std::size_t t = 0; t < tensors; ++t)
      for (std::uint64_t i = 0; i < data.counts[t]; ++i) {
        const D right = narrow<D>(data.right(t, i));
        wrong += std::memcmp(data.outputs[l * tensors + t].data() + i * sizeof(D), &right, sizeof right) != 0 ? 1u : 0u;
      }
  CHECK(wrong == 0);
  for (const Guarded& output : data.outputs) CHECK(output.guards_untouched());
}

}  // namespace

TEST_CASE("lists of tensors are added along the tree in f32, scaled, and rounded once, whatever their types and wherever they lie") {
  std::mt19937_64 random(1);
  for (std::uint32_t n = 1; n <= most_lists; ++n)
    for (const bool apart : {false, true}) {
      check_lists<float, float>(9, n, 1 + n % 3, apart, random);
      check_lists<Bf16, Bf16>(9, n, 1 + n % 3, apart, random);
      check_lists<Bf16, float>(9, n, 1, apart, random);
      check_lists<float, Bf16>(9, n, 2, apart, random);
      check_lists<F16, F16>(9, n, 1, apart, random);
      check_lists<float, F16>(9, n, 1, apart, random);
      check_lists<float, E4m3>(9, n, 1, apart, random);
      check_lists<E4m3, float>(9, n, 1, apart, random);
      check_lists<E5m2, Bf16>(9, n, 1, apart, random);
      check_lists<E5m2, E5m2>(9, n, 8, apart, random);
    }
}

TEST_CASE("more tensors than a kernel's parameters have room for take several launches, and all are added") {
  std::mt19937_64 random(2);
  RandomLists<float, float> data(1700, 2, 1, false, random);
  CHECK(add_lists<float, float>(data.lists, 3) == 3);
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < data.counts.size(); ++t)
    for (std::uint64_t i = 0; i < data.counts[t]; ++i) {
      const float right = data.right(t, i);
      wrong += std::memcmp(data.outputs[t].data() + i * sizeof(float), &right, sizeof right) != 0 ? 1u : 0u;
    }
  CHECK(wrong == 0);
}

TEST_CASE("f64 is rounded to a short type once, though it goes by way of f32") {
  std::mt19937_64 random(3);
  // Just beside the middle of two neighbours of a short type: f32 would hold the middle itself, and the tie go to the even one.
  for (unsigned bits = 0x0001; bits < 0x7BFF; ++bits) {
    const double low = to_double(F16{static_cast<std::uint16_t>(bits)}), high = to_double(F16{static_cast<std::uint16_t>(bits + 1)});
    const double middle = (low + high) / 2;
    for (const double sign : {1.0, -1.0}) {
      CHECK(to_double(from_double<F16>(sign * std::nextafter(middle, 1e9))) == sign * high);
      CHECK(to_double(from_double<F16>(sign * std::nextafter(middle, 0))) == sign * low);
      CHECK(to_double(from_double<F16>(sign * middle)) == sign * (bits % 2 == 0 ? low : high));
    }
  }
  CHECK(std::isnan(to_double(from_double<Bf16>(std::nan("")))));
  CHECK(to_double(from_double<Bf16>(-1e300)) == -std::numeric_limits<double>::infinity());
  CHECK(to_double(from_double<E4m3>(1e300)) == 448);
  CHECK(from_double<float>(0.1) == 0.1f);
  CHECK(from_double<double>(0.1) == 0.1);
}
