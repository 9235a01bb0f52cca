// bench_parse FILE...: reads plan and topology files (Rondo's JSON, MSCCL XML, MSCCL++ JSON; hwloc's and NCCL's XML) and says how long each takes from the
// file to the value, the best of twenty. One thread. Exit 1: a file can't be read.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "rondo/formats.hpp"
#include "rondo/topology.hpp"

namespace {

using namespace rondo;

/// What the file holds, or the error of the plan's reader.
Result<const char*> read(const std::string& path) {
  if (load_topology(path)) return "topology";
  const auto plan = load_plan(path);
  if (!plan) return plan.error();
  return "plan";
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: bench_parse FILE...\n");
    return 2;
  }
  int status = 0;
  for (int k = 1; k < count; ++k) {
    const std::string path = arguments[k];
    const auto kind = read(path);
    if (!kind) {
      std::fprintf(stderr, "bench_parse: %s\n", to_string(kind.error()).c_str());
      status = 1;
      continue;
    }
    const bool is_plan = std::string_view(*kind) == "plan";
    double best = 1e9;
    for (int run = 0; run < 20; ++run) {
      const auto begin = std::chrono::steady_clock::now();
      const bool fine = is_plan ? load_plan(path).has_value() : load_topology(path).has_value();
      if (fine) best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    const auto bytes = static_cast<unsigned long long>(std::filesystem::file_size(path));
    std::printf("%-32s %-8s %9llu bytes %8.2f ms\n", std::filesystem::path(path).filename().c_str(), *kind, bytes, best * 1e3);
  }
  return status;
}
