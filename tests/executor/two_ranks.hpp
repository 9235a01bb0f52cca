// Two ranks of this process over plain memory, for tests that turn their cranks.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "executor/compile.hpp"
#include "executor/run.hpp"
#include "support/catch.hpp"

namespace rondo::test {

/// A plan as the rank runs it on `count` elements of f32; `request` has what else it is compiled for.
inline Executable compiled(const Plan& plan, std::uint32_t rank, std::uint64_t count, const ContextLayout& layout, bool checked = false,
                           CompileRequest request = {}) {
  request.rank = rank;
  request.count = count;
  request.layout = layout;
  request.checked = checked;
  auto executable = compile(lower(plan), request);
  REQUIRE(executable);
  return std::move(*executable);
}

/// Their contexts, each over an area of its own.
struct TwoRanks {
  struct alignas(line_pair) Line {
    std::byte bytes[line_pair];
  };

  explicit TwoRanks(const ContextLayout& layout) {
    for (auto& area : areas) area.resize(layout.total_bytes() / sizeof(Line));
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      contexts.emplace_back(layout, rank, std::vector<std::byte*>{areas[0].front().bytes, areas[1].front().bytes}, std::vector<std::uint32_t>{0, 1}, nullptr);
  }

  std::array<std::vector<Line>, 2> areas;
  std::vector<Context> contexts;
  std::array<Run, 2> runs;
};

}  // namespace rondo::test
