#include "topology/quota.hpp"

#include <filesystem>

#include "topology/interfaces.hpp"
#include "topology/support.hpp"

using namespace rondo;

namespace {

// A made-up tree of files, gone at the end of the test.
class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "rondo-quota-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root = name;
  }
  ~Tree() { std::filesystem::remove_all(root); }

  void add(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }

  std::string root;
};

}  // namespace

TEST_CASE("cpu.max gives processors' worth of time") {
  CHECK(parse_cpu_max("200000 100000\n") == 2);
  CHECK(parse_cpu_max("150000 100000") == 1.5);
  CHECK(parse_cpu_max("max 100000\n") == 0);
  for (const auto* text : {"", "100000", "a b", "1 0", "-1 100000", "1 2 3"}) CHECK(parse_cpu_max(text) == 0);
}

TEST_CASE("version 1 files give processors' worth of time") {
  CHECK(parse_cfs("50000\n", "100000\n") == 0.5);
  CHECK(parse_cfs("-1\n", "100000\n") == 0);
  CHECK(parse_cfs("", "") == 0);
}

TEST_CASE("the tightest quota on the way to the root counts") {
  const Tree tree;
  tree.add("/proc/self/cgroup", "0::/outer/inner\n");
  tree.add("/proc/self/mountinfo", "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  tree.add("/sys/fs/cgroup/outer/cpu.max", "300000 100000\n");
  tree.add("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  CHECK(read_cpu_quota(tree.root) == 3);
  tree.add("/sys/fs/cgroup/outer/inner/cpu.max", "120000 100000\n");
  CHECK(read_cpu_quota(tree.root) == 1.2);
}

TEST_CASE("a container that sees its own group as the root still finds its quota") {
  const Tree tree;
  tree.add("/proc/self/cgroup", "0::/\n");
  tree.add("/proc/self/mountinfo", "30 23 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  tree.add("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  CHECK(read_cpu_quota(tree.root) == 4);
}

TEST_CASE("version 1 hierarchies are found by their controllers") {
  const Tree tree;
  tree.add("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n");
  tree.add("/proc/self/mountinfo",
           "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
           "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
           "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  tree.add("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  tree.add("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CHECK(read_cpu_quota(tree.root) == 2.5);
}

TEST_CASE("without control groups there is no quota") {
  const Tree tree;
  CHECK(read_cpu_quota(tree.root) == 0);
}

TEST_CASE("interfaces tell their speed in bytes per second, or nothing") {
  const Tree tree;
  tree.add("/net/eth0/speed", "25000\n");
  tree.add("/net/eth1/speed", "-1\n");
  tree.add("/net/eth0/operstate", "up\n");
  tree.add("/net/eth0/type", "1\n");
  tree.add("/net/lo/operstate", "up\n");
  tree.add("/net/lo/type", "772\n");
  const auto speeds = network_speeds(tree.root + "/net");
  CHECK(speeds.size() == 1);
  CHECK(speeds.at("eth0") == 25e9 / 8);
  CHECK(active_interfaces(tree.root + "/net") == std::vector<std::string>{"eth0"});
  CHECK(network_speeds(tree.root + "/none").empty());
}
