#include "support/shrinking.hpp"

#include <vector>

using namespace rondo;

std::string sums_to(Communicator& communicator, float own, float sum) {
  for (const std::size_t count : {std::size_t{2}, std::size_t{50'000}}) {
    std::vector<float> values(count, own);
    if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32); !done) return to_string(done.error());
    for (const float value : values)
      if (value != sum) return "a sum of " + std::to_string(value) + " in the place of " + std::to_string(sum);
  }
  return "";
}

Result<void> call_until_it_fails(Communicator& communicator) {
  std::vector<float> values(300'000, 1), results(values.size());
  Result<void> result;
  while (result) result = communicator.all_reduce(values.data(), results.data(), values.size(), DataType::f32);
  return result;
}

Result<Communicator> shrink_until_it_holds(Communicator& first) {
  auto next = first.shrink();
  while (next && next->size() > 1) {
    std::vector<float> values(2, 1);
    Result<void> done;
    for (int call = 0; done && call < 3; ++call) done = next->all_reduce(values.data(), values.data(), values.size(), DataType::f32);
    if (done) return next;
    auto smaller = next->shrink();
    next = std::move(smaller);
  }
  return next;
}
