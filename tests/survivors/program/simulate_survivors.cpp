// simulate_survivors FIRST COUNT: the runs of that many seeds. The first that goes wrong is printed, event by event; exit 1.
#include <cstdlib>
#include <iostream>

#include "survivors/simulation.hpp"

int main(int argc, char** argv) {
  char* end = nullptr;
  const std::uint64_t first = argc == 3 ? std::strtoull(argv[1], &end, 10) : 0;
  const bool good_first = argc == 3 && *end == '\0';
  const std::uint64_t count = argc == 3 ? std::strtoull(argv[2], &end, 10) : 0;
  if (!good_first || *end != '\0' || count == 0) {
    std::cerr << "usage: simulate_survivors FIRST COUNT (numbers; COUNT at least 1)\n";
    return 2;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (survivors_test::simulate(seed).empty()) continue;
    std::string log;
    const std::string wrong = survivors_test::simulate(seed, &log);
    std::cout << log << "seed " << seed << ": " << wrong << "\n";
    return 1;
  }
  std::cout << count << " seeds from " << first << " on: nothing was wrong\n";
}
