#include "topology/interfaces.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "topology/files.hpp"

namespace rondo {
namespace {

std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code failed;  // no such folder: no interfaces
  for (std::filesystem::directory_iterator entry{folder, failed}, end; !failed && entry != end; entry.increment(failed))
    paths.push_back(entry->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::map<std::string, double> network_speeds(const std::filesystem::path& folder) {
  std::map<std::string, double> speeds;
  for (const auto& path : entries(folder)) {
    // In Mb/s; a virtual interface answers −1 or refuses.
    const auto megabits = parse_unsigned(trimmed(read_small_file(path / "speed")));
    if (megabits && *megabits > 0 && *megabits < 10'000'000)
      speeds[path.filename().string()] = static_cast<double>(*megabits) * 1e6 / 8;
  }
  return speeds;
}

std::vector<std::string> active_interfaces(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& path : entries(folder)) {
    const std::string_view loopback_type = "772";  // ARPHRD_LOOPBACK
    const std::string state{trimmed(read_small_file(path / "operstate"))};
    if (state == "up" && trimmed(read_small_file(path / "type")) != loopback_type)
      names.push_back(path.filename().string());
  }
  return names;
}

}  // namespace rondo
