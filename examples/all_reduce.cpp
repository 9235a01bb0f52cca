#include <cstdio>
#include <rondo/communicator.hpp>
#include <thread>

int main() {
  auto ranks = rondo::Communicator::in_process(2);  // or local(rank, size, job), from_environment()
  if (!ranks) return std::fprintf(stderr, "%s\n", to_string(ranks.error()).c_str()), 1;
  const auto work = [&](int rank) {
    float values[3] = {1, 2, 3};
    const auto done = (*ranks)[rank].all_reduce(values, values, 3, rondo::DataType::f32);
    std::printf("rank %d: %g %g %g %s\n", rank, values[0], values[1], values[2], done ? "ok" : "failed");
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}
