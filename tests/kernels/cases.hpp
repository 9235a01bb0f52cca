// One call of a kernel with everything around it: buffers with guards, the reference's answer, the comparison.
#pragma once

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "reference.hpp"
#include "rondo/kernels.hpp"

namespace kernel_test {

using rondo::DataType;
using rondo::KernelCall;
using rondo::KernelTable;
using rondo::ReduceOp;

/// The kernels of one instruction set.
struct TargetTable {
  const char* name;
  KernelTable table;
};

/// Those of every instruction set that is compiled in and that this processor has.
std::vector<TargetTable> all_targets();

/// Calls body(reference type, DataType) for each of the types.
template <class Body>
void for_each_type(Body body) {
  body(reference::Plain<std::int8_t, std::int8_t>(), DataType::i8);
  body(reference::Plain<std::uint8_t, std::uint8_t>(), DataType::u8);
  body(reference::Plain<std::int16_t, std::int16_t>(), DataType::i16);
  body(reference::Plain<std::uint16_t, std::uint16_t>(), DataType::u16);
  body(reference::Plain<std::int32_t, std::int32_t>(), DataType::i32);
  body(reference::Plain<std::uint32_t, std::uint32_t>(), DataType::u32);
  body(reference::Plain<std::int64_t, std::int64_t>(), DataType::i64);
  body(reference::Plain<std::uint64_t, std::uint64_t>(), DataType::u64);
  body(reference::Halved<reference::F16>(), DataType::f16);
  body(reference::Halved<reference::Bf16>(), DataType::bf16);
  body(reference::Plain<float, float>(), DataType::f32);
  body(reference::Plain<double, double>(), DataType::f64);
}

/// What a call does besides its operation.
struct Extras {
  std::uint64_t scaled_sources = 0;
  double scale = 1;
  std::int64_t integer_scale = 1;
  std::uint32_t divisor = 0;
};

/// How the buffers of a call lie.
struct Placement {
  std::size_t destinations = 1;
  std::size_t offset = 0;  ///< elements between a 64-byte boundary and the first source; destination d lies d further
  bool in_place = false;   ///< destination d is source d, as far as there are sources
  std::uint64_t streamed = 0;
  std::uint64_t claimed = 0;
};

template <class Element>
using Rows = std::vector<std::vector<Element>>;

/// n rows of random elements, of the size of numbers that people add up; integers use all their bits.
template <class Type>
Rows<typename Type::Element> random_rows(std::size_t n, std::size_t count, std::mt19937_64& random) {
  Rows<typename Type::Element> rows(n, std::vector<typename Type::Element>(count));
  std::normal_distribution<float> normal(0.5f, 2.0f);
  for (auto& row : rows)
    for (auto& element : row) {
      if constexpr (std::is_floating_point_v<typename Type::Combined>)
        element = Type::narrow(normal(random));
      else
        element = static_cast<typename Type::Element>(random());
    }
  return rows;
}

/// Values `first` to `end` along the tree: the largest power of two below their number on the left.
template <class T>
T along_the_tree(ReduceOp op, const std::vector<T>& values, std::size_t first, std::size_t end) {
  if (end - first == 1) return values[first];
  std::size_t left = 1;
  while (left * 2 < end - first) left *= 2;
  return reference::combine(op, along_the_tree(op, values, first, first + left), along_the_tree(op, values, first + left, end));
}

template <class Type>
std::vector<typename Type::Element> expected(ReduceOp op, const Rows<typename Type::Element>& sources,
                                             const Extras& extras = {}) {
  std::vector<typename Type::Element> result(sources[0].size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<typename Type::Combined> values;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      values.push_back(Type::widen(sources[s][i]));
      if (s < 64 && ((extras.scaled_sources >> s) & 1) != 0)
        values.back() = Type::widen(Type::narrow(reference::scale(values.back(), extras.scale, extras.integer_scale)));
    }
    result[i] = Type::narrow(reference::divide(along_the_tree(op, values, 0, values.size()), extras.divisor));
  }
  return result;
}

/// The same bits; or both NaN, whichever; or zeros of either sign where the smaller or larger one was asked for.
template <class Type>
bool agree(ReduceOp op, typename Type::Element a, typename Type::Element b) {
  if (std::memcmp(&a, &b, sizeof a) == 0) return true;
  if constexpr (std::is_floating_point_v<typename Type::Combined>) {
    const auto x = Type::widen(a), y = Type::widen(b);
    return (std::isnan(x) && std::isnan(y)) || ((op == ReduceOp::min || op == ReduceOp::max) && x == 0 && y == 0);
  }
  return false;
}

/// A row of elements at a chosen distance from a cache line's beginning, with guard bytes on both sides.
template <class Element>
class Guarded {
 public:
  Guarded(std::size_t count, std::size_t offset)
      : bytes_(count * sizeof(Element) + (offset + 1) * sizeof(Element) + 3 * line, guard),
        size_(count * sizeof(Element)) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + line;
    begin_ = line + (line - address % line) % line + offset * sizeof(Element);
  }
  Element* data() { return reinterpret_cast<Element*>(bytes_.data() + begin_); }
  bool guards_untouched() const {
    const auto is_guard = [](unsigned char byte) { return byte == guard; };
    const auto elements = bytes_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(bytes_.begin(), elements, is_guard) && std::all_of(elements + static_cast<std::ptrdiff_t>(size_), bytes_.end(), is_guard);
  }

 private:
  static constexpr std::size_t line = 64;
  static constexpr unsigned char guard = 0xA5;
  std::vector<unsigned char> bytes_;
  std::size_t size_;
  std::size_t begin_;
};

/// Runs one call. Empty when all is right, else what isn't.
template <class Type>
const char* run_case(const KernelTable& table, ReduceOp op, DataType type, const Rows<typename Type::Element>& rows,
                     const std::vector<typename Type::Element>& right, const Placement& placement,
                     const Extras& extras = {}) {
  using Element = typename Type::Element;
  const std::size_t count = right.size();
  std::vector<Guarded<Element>> inputs, outputs;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  for (const auto& row : rows) {
    inputs.emplace_back(count, placement.offset);
    if (count != 0) std::memcpy(inputs.back().data(), row.data(), count * sizeof(Element));
  }
  for (auto& input : inputs) sources.push_back(input.data());
  for (std::size_t d = 0; d < placement.destinations; ++d) outputs.emplace_back(count, placement.offset + d);
  for (std::size_t d = 0; d < placement.destinations; ++d)
    destinations.push_back(placement.in_place && d < rows.size() ? inputs[d].data() : outputs[d].data());

  KernelCall call;
  call.sources = sources.data();
  call.destinations = destinations.data();
  call.source_count = static_cast<std::uint32_t>(sources.size());
  call.destination_count = static_cast<std::uint32_t>(destinations.size());
  call.count = count;
  call.streamed = placement.streamed;
  call.claimed = placement.claimed;
  call.scaled_sources = extras.scaled_sources;
  call.scale = extras.scale;
  call.integer_scale = extras.integer_scale;
  call.divisor = extras.divisor;
  table.get(op, type)(call);

  for (void* destination : destinations) {
    if (count == 0 || std::memcmp(destination, right.data(), count * sizeof(Element)) == 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      if (!agree<Type>(op, static_cast<const Element*>(destination)[i], right[i])) return "a wrong element";
  }
  for (std::size_t s = 0; s < rows.size(); ++s)
    if (!(placement.in_place && s < destinations.size()) && count != 0 &&
        std::memcmp(inputs[s].data(), rows[s].data(), count * sizeof(Element)) != 0)
      return "a changed source";
  for (const auto& input : inputs)
    if (!input.guards_untouched()) return "a write around a source";
  for (const auto& output : outputs)
    if (!output.guards_untouched()) return "a write around a destination";
  return "";
}

}  // namespace kernel_test
