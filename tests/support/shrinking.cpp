#include "support/shrinking.hpp"

#include <signal.h>

#include <thread>
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

std::string shrinks_while_another_dies(Communicator& communicator, std::uint32_t first, std::uint32_t second, std::chrono::microseconds delay) {
  const std::uint32_t rank = communicator.rank();
  if (rank == first) raise(SIGKILL);
  (void)call_until_it_fails(communicator);
  if (rank == second) std::thread([delay] {
    std::this_thread::sleep_for(delay);
    raise(SIGKILL);
  }).detach();
  auto survivors = shrink_until_it_holds(communicator);
  if (rank == second) std::this_thread::sleep_for(delay + std::chrono::seconds(1));  // until it is killed
  if (!survivors) return to_string(survivors.error());
  const std::uint32_t left = communicator.size() - 2;
  if (survivors->size() == left + 1) {  // it died after the calls that tried it
    (void)call_until_it_fails(*survivors);
    auto smaller = shrink_until_it_holds(*survivors);
    survivors = std::move(smaller);
    if (!survivors) return to_string(survivors.error());
  }
  if (survivors->size() != left) return "a communicator of " + std::to_string(survivors->size());
  return sums_to(*survivors, 1, static_cast<float>(left));
}
