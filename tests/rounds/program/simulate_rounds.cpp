// simulate_rounds FIRST COUNT RANKS: so many random jobs of at most so many ranks, from a seed on. Exit 1 and the job at the first that goes wrong.
#include <cstdio>
#include <cstdlib>

#include "rounds/simulation.hpp"

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: simulate_rounds FIRST COUNT RANKS\n");
    return 2;
  }
  const auto number = [&](int at) { return std::strtoull(arguments[at], nullptr, 10); };
  std::uint64_t events = 0, well = 0, failed = 0;
  for (std::uint64_t seed = number(1); seed < number(1) + number(2); ++seed) {
    const Job job = random_job(seed, static_cast<std::uint32_t>(number(3)));
    const Outcome outcome = simulate(job);
    events += outcome.events, well += outcome.well, failed += outcome.failed;
    if (outcome.wrong.empty()) continue;
    std::printf("%s: %s\n", text_of(job).c_str(), outcome.wrong.c_str());
    return 1;
  }
  std::printf("%llu ranks went through all rounds, %llu failed as they must; %llu events\n", static_cast<unsigned long long>(well),
              static_cast<unsigned long long>(failed), static_cast<unsigned long long>(events));
  return 0;
}
