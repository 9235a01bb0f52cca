// The control groups' limits besides processor time, read from made-up trees.
#include <filesystem>
#include <fstream>

#include "communicator/doctor_groups.hpp"
#include "support/catch.hpp"
#include "tools/subprocess.hpp"

namespace {

using namespace rondo::doctor;
namespace fs = std::filesystem;

/// A tree of these files; returns its root.
std::string tree(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
  const fs::path root = fs::path(write_file(name, "")).concat(".tree");
  for (const auto& [path, text] : files) {
    const fs::path file = root / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  return root.string();
}

const std::pair<std::string, std::string> unified_mount{"proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"};

}  // namespace

TEST_CASE("the tightest memory limit and the fewest tasks on the way to a unified group's root count") {
  const auto root = tree("unified", {unified_mount,
                                     {"proc/self/cgroup", "0::/a/b\n"},
                                     {"sys/fs/cgroup/a/memory.max", "1073741824\n"},
                                     {"sys/fs/cgroup/a/b/memory.max", "max\n"},
                                     {"sys/fs/cgroup/a/pids.max", "100\n"},
                                     {"sys/fs/cgroup/a/pids.current", "90\n"},
                                     {"sys/fs/cgroup/a/b/pids.max", "50\n"},
                                     {"sys/fs/cgroup/a/b/pids.current", "10\n"},
                                     {"sys/fs/cgroup/other/memory.max", "1\n"}});
  CHECK(memory_limit_of_groups(root) == 1073741824u);
  CHECK(tasks_left_in_groups(root) == 10u);
}

TEST_CASE("the limits of version 1 are found by controller, seen from a container, and its huge number is no limit") {
  const auto files = [](const std::string& limit) {
    return std::vector<std::pair<std::string, std::string>>{
        {"proc/self/mountinfo", "31 20 0:27 /docker/77 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                "32 20 0:28 /docker/77 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"},
        {"proc/self/cgroup", "5:pids:/docker/77\n4:memory:/docker/77/job\n"},
        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
        {"sys/fs/cgroup/memory/job/memory.limit_in_bytes", limit},
        {"sys/fs/cgroup/pids/job/memory.limit_in_bytes", "1\n"},  // another controller's hierarchy
        {"sys/fs/cgroup/pids/pids.max", "20\n"},
        {"sys/fs/cgroup/pids/pids.current", "25\n"}};
  };
  CHECK(memory_limit_of_groups(tree("limited", files("4096\n"))) == 4096u);
  CHECK(tasks_left_in_groups(tree("limited", files("4096\n"))) == 0u);
  CHECK(memory_limit_of_groups(tree("unlimited", files("9223372036854771712\n"))) == std::nullopt);
}

TEST_CASE("without control groups there is no limit") {
  const auto root = tree("none", {{"proc/self/mountinfo", "nonsense\n"}, {"proc/self/cgroup", "0::/\n"}});
  CHECK(memory_limit_of_groups(root) == std::nullopt);
  CHECK(tasks_left_in_groups(root) == std::nullopt);
  CHECK(memory_limit_of_groups(tree("no_groups", {unified_mount})) == std::nullopt);
}
