#include "topology/quota.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "topology/files.hpp"

namespace rondo {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

double ratio(std::string_view quota, std::string_view period) {
  const auto granted = parse_unsigned(quota);
  const auto of = parse_unsigned(period);
  if (!granted || !of || *granted == 0 || *of == 0) return 0;
  return static_cast<double>(*granted) / static_cast<double>(*of);
}

// Where a control-group hierarchy is mounted, and which group stands at the mount point.
struct Mount {
  std::string folder;
  std::string group;
  bool unified = false;
};

// Lines of mountinfo: "id parent dev GROUP FOLDER options [tags] - TYPE source super-options".
std::optional<Mount> mount_of(const std::string& line) {
  const auto fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (fields.size() < 6 || fields.end() - dash < 4) return std::nullopt;
  const bool unified = dash[1] == "cgroup2";
  const bool processor_time = dash[1] == "cgroup" && contains(split(dash[3], ','), "cpu");
  if (!unified && !processor_time) return std::nullopt;
  return Mount{fields[4], fields[3], unified};
}

// Lines of /proc/self/cgroup: "0::/group" (version 2) or "4:cpu,cpuacct:/group".
std::optional<std::string> group_of(const std::string& line, bool unified) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const bool fits = unified ? controllers.empty() : contains(split(controllers, ','), "cpu");
  if (!fits) return std::nullopt;
  return line.substr(second + 1);
}

double quota_in(const std::filesystem::path& folder, bool unified) {
  if (unified) return parse_cpu_max(read_small_file(folder / "cpu.max"));
  return parse_cfs(read_small_file(folder / "cpu.cfs_quota_us"), read_small_file(folder / "cpu.cfs_period_us"));
}

// A container may see its own group as the mount's root, then the path below the mount is what is left of the group's.
double quota_on_path(const std::string& root, const Mount& mount, std::string group) {
  if (mount.group != "/" && group.starts_with(mount.group)) group.erase(0, mount.group.size());
  double quota = quota_in(root + mount.folder, mount.unified);
  std::string path;
  for (const std::string& part : split(group, '/')) {
    if (part.empty() || part == "..") continue;
    path += std::string("/") + part;
    quota = tighter_quota(quota, quota_in(root + mount.folder + path, mount.unified));
  }
  return quota;
}

}  // namespace

double parse_cpu_max(std::string_view text) {
  const auto fields = split(trimmed(text), ' ');
  return fields.size() == 2 ? ratio(fields[0], fields[1]) : 0;
}

double parse_cfs(std::string_view quota, std::string_view period) {
  return ratio(trimmed(quota), trimmed(period));
}

double read_cpu_quota(const std::string& root) {
  const auto groups = split(read_small_file(root + "/proc/self/cgroup"), '\n');
  double quota = 0;
  for (const std::string& line : split(read_small_file(root + "/proc/self/mountinfo"), '\n')) {
    const auto mount = mount_of(line);
    if (!mount) continue;
    for (const std::string& entry : groups)
      if (const auto group = group_of(entry, mount->unified))
        quota = tighter_quota(quota, quota_on_path(root, *mount, *group));
  }
  return quota;
}

}  // namespace rondo
