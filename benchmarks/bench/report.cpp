#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

void print_head(const Options& options, const rondo::Communicator& communicator) {
  const char* const transport = options.transport.empty() ? "not forced" : options.transport.c_str();
  std::printf("# rondo-bench %s: %u ranks as %s, transport %s\n", std::string(to_string(options.collective)).c_str(), communicator.size(),
              options.threads ? "threads" : "processes", transport);
  if (options.symmetric) std::printf("# buffers are symmetric memory\n");
  std::printf("#\n# %41s out of place %26s in place\n", "", "");
  std::printf("# %10s %12s %6s %10s %5s %9s %7s %7s %6s %9s %7s %7s %6s  plan\n", "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
              "time", "algbw", "busbw", "#wrong");
  std::printf("# %10s %12s %6s %10s %5s %9s %7s %7s %6s %9s %7s %7s %6s\n", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
              "(GB/s)", "");
}

void print_row(const Options& options, const Row& row) {
  const bool reduces = rondo::is_reduction(options.collective);
  const bool rooted =
      options.collective == rondo::Collective::broadcast || options.collective == rondo::Collective::reduce;
  std::printf("  %10llu %12llu %6s %10s %5d", static_cast<unsigned long long>(row.bytes),
              static_cast<unsigned long long>(row.count), std::string(to_string(options.type)).c_str(),
              reduces ? std::string(to_string(options.op)).c_str() : "none",
              rooted ? static_cast<int>(options.root) : -1);
  for (const auto* timing : {&row.out_of_place, &row.in_place})
    if (!*timing)
      std::printf(" %9s %7s %7s %6s", "N/A", "N/A", "N/A", "N/A");
    else
      std::printf(" %9.2f %7.2f %7.2f %6s", (*timing)->time_us, (*timing)->algbw_gbps, (*timing)->busbw_gbps,
                  (*timing)->wrong ? std::to_string(*(*timing)->wrong).c_str() : "N/A");
  std::printf("  %s\n", row.plan.c_str());
  if (options.percentiles)
    for (const Timing* timing : row.timings())
      std::printf("#   %s: 50%% %.2f us, 90%% %.2f us, 99%% %.2f us\n",
                  row.in_place && timing == &*row.in_place ? "in place" : "out of place", timing->percentiles_us[0],
                  timing->percentiles_us[1], timing->percentiles_us[2]);
  std::fflush(stdout);
}

void print_foot(const std::vector<Row>& rows) {
  std::optional<std::uint64_t> wrong;
  double bandwidth = 0;
  std::size_t timings = 0;
  for (const Row& row : rows) {
    if (row.wrong()) wrong = wrong.value_or(0) + *row.wrong();
    for (const Timing* timing : row.timings()) bandwidth += timing->busbw_gbps;
    timings += row.timings().size();
  }
  if (wrong) std::printf("# Out of bounds values : %llu %s\n", static_cast<unsigned long long>(*wrong), *wrong == 0 ? "OK" : "FAILED");
  else std::printf("# Out of bounds values : N/A, nothing was checked\n");
  std::printf("# Avg bus bandwidth    : %.4f\n", timings == 0 ? 0 : bandwidth / static_cast<double>(timings));
}

bool write_json(const Options& options, std::uint32_t ranks, const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows)
    for (const Timing* measured : row.timings()) {
      const Timing& timing = *measured;
      const bool in_place = row.in_place && measured == &*row.in_place;
      nlohmann::json entry{{"collective", to_string(options.collective)},
                           {"ranks", ranks},
                           {"bytes", row.bytes},
                           {"dtype", to_string(options.type)},
                           {"op", to_string(options.op)},
                           {"in_place", in_place},
                           {"time_us", timing.time_us},
                           {"algbw_gbps", timing.algbw_gbps},
                           {"busbw_gbps", timing.busbw_gbps},
                           {"wrong", nullptr},
                           {"plan", row.plan}};
      if (timing.wrong) entry["wrong"] = *timing.wrong;
      if (!timing.percentiles_us.empty())
        entry["percentiles_us"] = {{"50", timing.percentiles_us[0]}, {"90", timing.percentiles_us[1]}, {"99", timing.percentiles_us[2]}};
      list.push_back(entry);
    }
  std::ofstream file(options.json_file);
  file << list.dump(1) << "\n";
  return file.good();
}
