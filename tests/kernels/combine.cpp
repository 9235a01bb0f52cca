// Every operation on every type, over shapes, placements and instruction sets.
#include <string>
#include <vector>

#include "cases.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

using namespace kernel_test;

namespace {

/// A sanitized build needs to see each way of combining them, not each number of rests.
const std::vector<std::size_t> source_counts =
    sanitized ? std::vector<std::size_t>{1, 2, 3, 8, 17} : std::vector<std::size_t>{1, 2, 3, 4, 5, 7, 8, 17, 30};

/// As many elements as it takes for a destination to be streamed (4096 bytes) or claimed ahead, and a bit more.
template <class Type>
constexpr std::size_t long_count = 4096 / sizeof(typename Type::Element) + 65;

template <class Type>
const std::vector<std::size_t> element_counts =
    sanitized ? std::vector<std::size_t>{0, 1, 3, 16, 17, 65, 257, long_count<Type>}
              : std::vector<std::size_t>{0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 127, 129, 255, 257, long_count<Type>};

/// Streamed and claimed destinations have one way to combine sources, but one for each depth of its tree. Short calls claim, and don't stream.
template <class Type>
bool hints_matter(std::size_t n, std::size_t count) {
  return (count == long_count<Type> && (n <= 3 || n == 8 || n == 17)) || (count == 257 && n <= 2);
}

/// All placements that differ in the code they reach.
std::vector<Placement> placements(bool hinted) {
  std::vector<Placement> result;
  for (const std::size_t m : {1, 2, 3})
    for (const std::size_t offset : {0, 1})
      for (const bool in_place : {false, true}) {
        result.push_back({m, offset, in_place, 0});
        if (hinted) result.push_back({m, offset, in_place, 7});
        if (hinted && m > 1) result.push_back({m, offset, in_place, 2});
        if (hinted) result.push_back({m, offset, in_place, m > 1 ? 1u : 0u, m > 1 ? 6u : 1u});
      }
  return result;
}

template <class Type>
void check_all(const std::vector<TargetTable>& targets, ReduceOp op, DataType type, std::size_t n, std::size_t count,
               std::mt19937_64& random, const Extras& extras = {}) {
  const auto rows = random_rows<Type>(n, count, random);
  const auto right = expected<Type>(op, rows, extras);
  for (const auto& target : targets)
    for (const auto& at : placements(hints_matter<Type>(n, count))) {
      const std::string wrong = run_case<Type>(target.table, op, type, rows, right, at, extras);
      if (wrong.empty()) continue;
      INFO(target.name << " " << rondo::to_string(op) << " " << rondo::to_string(type) << " n=" << n
                       << " m=" << at.destinations << " count=" << count << " offset=" << at.offset
                       << " in_place=" << at.in_place << " streamed=" << at.streamed << " claimed=" << at.claimed << " divisor=" << extras.divisor);
      CHECK(wrong == "");
    }
}

}  // namespace

TEST_CASE("every kernel combines sources along the one tree, wherever the buffers lie, on every instruction set") {
  const auto targets = all_targets();
  std::mt19937_64 random(1);
  for_each_type([&](auto reference_type, DataType type) {
    using Type = decltype(reference_type);
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::band, ReduceOp::bor, ReduceOp::bxor}) {
      if (!rondo::is_defined(op, type)) continue;
      for (const std::size_t n : source_counts)
        for (const std::size_t count : element_counts<Type>) check_all<Type>(targets, op, type, n, count, random);
    }
  });
}

TEST_CASE("avg divides once in the end, and integers truncate towards zero") {
  const auto targets = all_targets();
  std::mt19937_64 random(2);
  for_each_type([&](auto reference_type, DataType type) {
    using Type = decltype(reference_type);
    for (const std::uint32_t divisor : {1u, 2u, 3u, 7u, 8u, 17u, 255u, 65537u, 0xFFFFFFFFu})
      for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{65}, long_count<Type>}) {
        Extras extras;
        extras.divisor = divisor;
        check_all<Type>(targets, ReduceOp::avg, type, 3, count, random, extras);
      }
  });
}

TEST_CASE("premul_sum scales the sources it names and rounds the products to their type") {
  const auto targets = all_targets();
  std::mt19937_64 random(3);
  for_each_type([&](auto reference_type, DataType type) {
    using Type = decltype(reference_type);
    for (const std::uint64_t scaled : {1ull, 2ull, 5ull, ~0ull})
      for (const std::size_t n : {1, 2, 3, 8})
        for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{17}, std::size_t{65}, long_count<Type>}) {
          Extras extras;
          extras.scaled_sources = scaled;
          extras.scale = 0.3;
          extras.integer_scale = -0x123456789ABLL;
          extras.divisor = count == 65 ? 3 : 0;
          check_all<Type>(targets, ReduceOp::premul_sum, type, n, count, random, extras);
        }
  });
}

TEST_CASE("so do long calls that claim what they write, which some processors go through in two rows") {
  const auto targets = all_targets();
  std::mt19937_64 random(5);
  const auto check = [&](auto reference_type, DataType type) {
    using Type = decltype(reference_type);
    for (const std::size_t n : {2, 3})
      for (const std::size_t rest : {0, 1, 131}) {
        const auto rows = random_rows<Type>(n, (16u << 10) / sizeof(typename Type::Element) + rest, random);
        const auto right = expected<Type>(ReduceOp::sum, rows);
        for (const auto& target : targets)
          for (const std::size_t m : {1, 2})
            for (const std::size_t offset : {0, 1})
              for (const bool in_place : {false, true}) {
                INFO(target.name << " " << rondo::to_string(type) << " n=" << n << " m=" << m << " rest=" << rest << " offset=" << offset << " " << in_place);
                CHECK(std::string(run_case<Type>(target.table, ReduceOp::sum, type, rows, right, {m, offset, in_place, 0, ~0ull})) == "");
              }
      }
  };
  check(reference::Plain<float, float>(), DataType::f32);
  check(reference::Plain<std::uint8_t, std::uint8_t>(), DataType::u8);
  check(reference::Halved<reference::Bf16>(), DataType::bf16);
}

TEST_CASE("more sources and destinations than a word has bits") {
  std::mt19937_64 random(4);
  using Type = reference::Plain<float, float>;
  const auto rows = random_rows<Type>(100, 2000, random);
  const auto right = expected<Type>(ReduceOp::sum, rows);
  for (const auto& target : all_targets())
    for (const std::uint64_t streamed : {0ull, ~0ull}) {
      const Placement at{70, 3, false, streamed};
      CHECK(std::string(run_case<Type>(target.table, ReduceOp::sum, DataType::f32, rows, right, at)) == "");
    }
}
