#include "communicator/doctor_groups.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "topology/files.hpp"

namespace rondo::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t as_good_as_none = std::uint64_t{1} << 60;  // version 1 writes "no limit" as a huge number

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{text};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& parts, std::string_view part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); }

/// This process's group in a hierarchy: lines of /proc/self/cgroup, "0::/group" (version 2) or "4:memory:/group".
std::optional<std::string> group_of(const std::string& root, bool unified, const std::string& controller) {
  for (const std::string& line : split(read_small_file(root + "/proc/self/cgroup"), '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : contains(split(controllers, ','), controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The folders from the mount point down to the group. A container may see its own group as the mount's root.
std::vector<fs::path> folders_down_to(const std::string& mounted_at, const std::string& mounted_group, std::string group) {
  if (mounted_group != "/" && group.starts_with(mounted_group)) group.erase(0, mounted_group.size());
  std::vector<fs::path> folders{mounted_at};
  for (const std::string& part : split(group, '/'))
    if (!part.empty() && part != "..") folders.push_back(folders.back() / part);
  return folders;
}

/// All folders whose limits hold for this process. Lines of mountinfo: "id parent dev GROUP FOLDER options [tags] - TYPE source
/// super-options".
std::vector<fs::path> folders_of(const std::string& root, const std::string& controller) {
  std::vector<fs::path> folders;
  for (const std::string& line : split(read_small_file(root + "/proc/self/mountinfo"), '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const bool unified = dash[1] == "cgroup2";
    if (!unified && (dash[1] != "cgroup" || !contains(split(dash[3], ','), controller))) continue;
    const auto group = group_of(root, unified, controller);
    if (!group) continue;
    for (fs::path& folder : folders_down_to(root + fields[4], fields[3], *group)) folders.push_back(std::move(folder));
  }
  return folders;
}

/// "max" and files that aren't there are no numbers.
std::optional<std::uint64_t> number_in(const fs::path& file) { return parse_unsigned(trimmed(read_small_file(file))); }

void lower(std::optional<std::uint64_t>& least, std::uint64_t value) { least = std::min(least.value_or(value), value); }

}  // namespace

std::optional<std::uint64_t> memory_limit_of_groups(const std::string& root) {
  std::optional<std::uint64_t> least;
  for (const fs::path& folder : folders_of(root, "memory"))
    for (const char* file : {"memory.max", "memory.limit_in_bytes"})
      if (const auto limit = number_in(folder / file); limit && *limit < as_good_as_none) lower(least, *limit);
  return least;
}

std::optional<std::uint64_t> tasks_left_in_groups(const std::string& root) {
  std::optional<std::uint64_t> least;
  for (const fs::path& folder : folders_of(root, "pids")) {
    const auto most = number_in(folder / "pids.max"), now = number_in(folder / "pids.current");
    if (most) lower(least, *most - std::min(*most, now.value_or(0)));
  }
  return least;
}

}  // namespace rondo::doctor
