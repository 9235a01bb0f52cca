// f32 with a 16-bit type in some sources and destinations, against one element at a time.
#include <string>

#include "cases.hpp"
#include "support/catch.hpp"

using namespace kernel_test;

namespace {

using rondo::WireCall;

/// A call, but for its data.
struct WireCase {
  std::size_t sources, destinations, count;
  std::uint64_t wire_sources, wire_destinations, scaled, streamed;
  std::uint32_t divisor;
  std::size_t offset;  ///< elements between a 64-byte boundary and each buffer
  bool in_place;       ///< the first f32 destination is the first f32 source
};

template <class Format>
float rounded(float value) {
  return static_cast<float>(Format::decode(Format::encode(static_cast<double>(value))));
}

constexpr double factor = 0.3;

template <class Format>
std::vector<float> expected_sums(const WireCase& c, const std::vector<std::vector<float>>& rows) {
  std::vector<float> result(c.count);
  for (std::size_t i = 0; i < c.count; ++i) {
    std::vector<float> values;
    for (std::size_t s = 0; s < c.sources; ++s) {
      const bool scaled = (c.scaled >> s & 1) != 0 && (c.wire_sources >> s & 1) == 0;
      values.push_back(rounded<Format>(scaled ? reference::scale(rows[s][i], factor, 1) : rows[s][i]));
    }
    result[i] = reference::divide(along_the_tree(ReduceOp::sum, values, 0, values.size()), c.divisor);
    if (c.wire_destinations != 0) result[i] = rounded<Format>(result[i]);
  }
  return result;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

/// Empty when all is right, else what isn't.
template <class Format>
std::string run_wire(rondo::WireKernel kernel, const WireCase& c, const std::vector<std::vector<float>>& rows) {
  const std::vector<float> right = expected_sums<Format>(c, rows);
  std::vector<Guarded<float>> floats;
  std::vector<Guarded<std::uint16_t>> halves;
  floats.reserve(c.sources + c.destinations);
  halves.reserve(c.sources + c.destinations);
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  void* shared = nullptr;
  for (std::size_t s = 0; s < c.sources; ++s) {
    if ((c.wire_sources >> s & 1) != 0) {
      halves.emplace_back(c.count, c.offset);
      for (std::size_t i = 0; i < c.count; ++i) halves.back().data()[i] = Format::encode(static_cast<double>(rows[s][i]));
      sources.push_back(halves.back().data());
    } else {
      floats.emplace_back(c.count, c.offset);
      for (std::size_t i = 0; i < c.count; ++i) floats.back().data()[i] = rows[s][i];
      sources.push_back(floats.back().data());
      if (shared == nullptr) shared = floats.back().data();
    }
  }
  for (std::size_t d = 0; d < c.destinations; ++d) {
    const bool half = (c.wire_destinations >> d & 1) != 0;
    if (!half && c.in_place && shared != nullptr) {
      destinations.push_back(shared);
      shared = nullptr;
    } else if (half) {
      halves.emplace_back(c.count, c.offset + d);
      destinations.push_back(halves.back().data());
    } else {
      floats.emplace_back(c.count, c.offset + d);
      destinations.push_back(floats.back().data());
    }
  }
  WireCall call;
  call.sources = sources.data();
  call.destinations = destinations.data();
  call.source_count = static_cast<std::uint32_t>(c.sources);
  call.destination_count = static_cast<std::uint32_t>(c.destinations);
  call.count = c.count;
  call.wire_sources = c.wire_sources;
  call.wire_destinations = c.wire_destinations;
  call.scaled_sources = c.scaled & ~c.wire_sources;
  call.streamed = c.streamed;
  call.scale = factor;
  call.divisor = c.divisor;
  kernel(call);
  for (std::size_t d = 0; d < c.destinations; ++d)
    for (std::size_t i = 0; i < c.count; ++i) {
      const float got = (c.wire_destinations >> d & 1) != 0 ? static_cast<float>(Format::decode(static_cast<const std::uint16_t*>(destinations[d])[i]))
                                                            : static_cast<const float*>(destinations[d])[i];
      if (!same(got, right[i])) return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(right[i]);
    }
  for (const auto& one : floats)
    if (!one.guards_untouched()) return "a write around f32";
  for (const auto& one : halves)
    if (!one.guards_untouched()) return "a write around the wire";
  return "";
}

/// Numbers that people add up, among special ones.
std::vector<std::vector<float>> random_values(const WireCase& c, std::mt19937_64& random) {
  const float special[] = {0.0f, -0.0f, 1e-40f, 6e-8f, 3e-5f, 65504.0f, 65519.9f, 65520.0f, 3.4e38f, 1.00390625f, 1.01171875f, 2049.0f,
                           std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN()};
  std::normal_distribution<float> normal(0.5f, 2.0f);
  std::vector<std::vector<float>> rows(c.sources, std::vector<float>(c.count));
  for (auto& row : rows)
    for (float& value : row) value = random() % 8 == 0 ? special[random() % std::size(special)] : normal(random);
  return rows;
}

template <class Format>
void check_wire(DataType wire, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto targets = all_targets();
  for (const std::size_t sources : {1, 2, 3, 4, 5, 8, 17})
    for (const std::size_t destinations : {1, 2, 3})
      for (const std::size_t count : {0, 1, 3, 15, 16, 17, 64, 65, 257, 4097}) {
        WireCase c{sources, destinations, count, random(), random() % 8, random() % 3 == 0 ? random() : 0, count > 1000 ? random() % 8 : 0,
                   random() % 3 == 0 ? 3u : 0u, random() % 5, random() % 2 == 0};
        c.wire_sources &= (1u << sources) - 1;
        c.wire_destinations &= (1u << destinations) - 1;
        const auto rows = random_values(c, random);
        for (const auto& target : targets) {
          const std::string wrong = run_wire<Format>(target.table.wire[static_cast<std::size_t>(wire)], c, rows);
          if (wrong.empty()) continue;
          INFO(target.name << " " << rondo::to_string(wire) << " " << sources << " sources " << c.wire_sources << " destinations " << destinations << " "
                           << c.wire_destinations << " count " << count << " streamed " << c.streamed << " divisor " << c.divisor);
          CHECK(wrong == "");
        }
      }
}

}  // namespace

TEST_CASE("wire kernels round f32 sources as if they came from a slot, and results alike for all, on every instruction set") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    check_wire<reference::Bf16>(DataType::bf16, seed);
    check_wire<reference::F16>(DataType::f16, seed);
  }
}

TEST_CASE("a contribution that goes through a slot has the bits of one that is read where it lies") {
  std::mt19937_64 random(9);
  for (const DataType wire : {DataType::bf16, DataType::f16})
    for (const auto& target : all_targets()) {
      const auto kernel = target.table.wire[static_cast<std::size_t>(wire)];
      std::vector<float> own(1000), through(1000), direct(1000);
      std::vector<std::uint16_t> slot(1000);
      std::normal_distribution<float> normal(0, 100);
      for (float& value : own) value = normal(random);
      const void* from = own.data();
      const void* from_slot = slot.data();
      void* to_slot = slot.data();
      void* to_through = through.data();
      void* to_direct = direct.data();
      WireCall call{&from, &to_slot, 1, 1, 1000, 0, 1, 1, 0, 0.7, 0};
      kernel(call);
      call = WireCall{&from_slot, &to_through, 1, 1, 1000, 1, 0, 0, 0, 1, 0};
      kernel(call);
      call = WireCall{&from, &to_direct, 1, 1, 1000, 0, 0, 1, 0, 0.7, 0};
      kernel(call);
      INFO(target.name << " " << rondo::to_string(wire));
      CHECK(through == direct);
    }
}
