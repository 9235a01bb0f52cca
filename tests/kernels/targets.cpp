#include "each_target.hpp"

#include "cases.hpp"
#include "kernels/cpu/table.hpp"
#include "support/catch.hpp"

namespace kernel_test {

std::vector<TargetTable> all_targets() {
  std::vector<TargetTable> result;
  with_each_target([&] { result.push_back({rondo::kernels::chosen_target(), rondo::kernels::make_kernel_table()}); });
  return result;
}

}  // namespace kernel_test

TEST_CASE("each instruction set has a table of its own, and the best one is chosen") {
  const auto targets = kernel_test::all_targets();
  REQUIRE(!targets.empty());
  for (std::size_t a = 0; a < targets.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      CHECK(std::string(targets[a].name) != targets[b].name);
      CHECK(targets[a].table.reduce != targets[b].table.reduce);
    }
  const bool too_wide = std::string(targets.front().name) == "AVX3" && rondo::kernels::has_slow_wide_vectors();
  const auto& best = too_wide ? targets.at(1) : targets.front();
  CHECK(std::string(rondo::cpu_kernel_target()) == best.name);
  CHECK(rondo::cpu_kernels().reduce == best.table.reduce);
}

TEST_CASE("a kernel exists exactly where the operation is defined on the type") {
  for (const auto& target : kernel_test::all_targets())
    for (std::size_t op = 0; op < rondo::reduce_op_count; ++op)
      for (std::size_t type = 0; type < rondo::data_type_count; ++type) {
        const auto o = static_cast<rondo::ReduceOp>(op);
        const auto t = static_cast<rondo::DataType>(type);
        INFO(target.name << " " << rondo::to_string(o) << " " << rondo::to_string(t));
        CHECK((target.table.get(o, t) != nullptr) == rondo::is_defined(o, t));
      }
}
