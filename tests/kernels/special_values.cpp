// NaN, infinities, denormals, and the conversions of 16-bit types over all their values.
#include <cfenv>
#include <limits>
#include <string>

#include "cases.hpp"
#include "support/catch.hpp"

using namespace kernel_test;

namespace {

template <class Body>
void for_each_half(Body body) {
  body(reference::Halved<reference::F16>(), DataType::f16);
  body(reference::Halved<reference::Bf16>(), DataType::bf16);
}

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

template <class Type>
void check(ReduceOp op, DataType type, const Rows<typename Type::Element>& rows, const Extras& extras = {}) {
  const auto right = expected<Type>(op, rows, extras);
  for (const auto& target : all_targets())
    for (const std::uint64_t streamed : {0, 1}) {
      INFO(target.name << " " << rondo::to_string(op) << " " << rondo::to_string(type) << " scale " << extras.scale);
      CHECK(std::string(run_case<Type>(target.table, op, type, rows, right, {1, 0, false, streamed}, extras)) == "");
    }
}

}  // namespace

TEST_CASE("each of the 65,536 values of a 16-bit type comes through a sum of one unchanged") {
  for_each_half([](auto type, DataType name) { check<decltype(type)>(ReduceOp::sum, name, {all_halves()}); });
}

TEST_CASE("each of the 65,536 values of a 16-bit type is widened and rounded right in sums, products and scalings") {
  const auto all = all_halves();
  std::mt19937_64 random(5);
  for_each_half([&](auto type, DataType name) {
    using Type = decltype(type);
    // Every value with zero, with its neighbours' neighbours (ties), with a random partner.
    for (const int distance : {0, 1, 2, 1024, 7777, 0x8001}) {
      auto partner = all;
      for (auto& element : partner) element = static_cast<std::uint16_t>(element + distance);
      check<Type>(ReduceOp::sum, name, {all, partner});
    }
    auto partner = all;
    for (auto& element : partner) element = static_cast<std::uint16_t>(random());
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max})
      check<Type>(op, name, {all, partner});
    // Scalings put every fraction at every distance from the rounding points, down into the denormals and up to
    // infinity.
    for (const double scale : {1.0009765625, 0.3333333, 1.5, std::ldexp(1.0, -13), std::ldexp(1.3, -20), 0.999, 3e4}) {
      Extras extras;
      extras.scaled_sources = 1;
      extras.scale = scale;
      check<Type>(ReduceOp::premul_sum, name, {all}, extras);
    }
  });
}

TEST_CASE("a NaN in any source makes the result a NaN, and infinities behave") {
  for_each_type([](auto reference_type, DataType name) {
    using Type = decltype(reference_type);
    if constexpr (std::is_floating_point_v<typename Type::Combined>) {
      using Combined = typename Type::Combined;
      const Combined infinity = std::numeric_limits<Combined>::infinity();
      const Combined specials[] = {std::numeric_limits<Combined>::quiet_NaN(),
                                   infinity,
                                   -infinity,
                                   0,
                                   -Combined{0},
                                   1,
                                   -2,
                                   std::numeric_limits<Combined>::denorm_min(),
                                   std::numeric_limits<Combined>::max()};
      Rows<typename Type::Element> rows(3);
      for (const Combined a : specials)
        for (const Combined b : specials)
          for (const Combined c : specials) {
            rows[0].push_back(Type::narrow(a));
            rows[1].push_back(Type::narrow(b));
            rows[2].push_back(Type::narrow(c));
          }
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
        check<Type>(op, name, rows);
        check<Type>(op, name, {rows[0], rows[1]});
      }
    }
  });
}
