#include "support/hosts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/fd.hpp"

namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

bool enter(pid_t process, const char* space) {
  const rondo::Fd file(open(("/proc/" + std::to_string(process) + "/ns/" + space).c_str(), O_RDONLY | O_CLOEXEC));
  return file && setns(file.get(), 0) == 0;
}

std::string name_of(std::uint32_t interface) { return interface == 0 ? "eth" : "eth" + std::to_string(interface); }
std::string bridge_of(std::uint32_t interface) { return "bridge" + std::to_string(interface); }
std::string cable_of(std::uint32_t host, std::uint32_t interface = 0) { return "cable" + std::to_string(interface) + "." + std::to_string(host); }

/// "" once the holder says that it holds.
std::string await_holder(int answer) {
  char byte = 0;
  const ssize_t got = read(answer, &byte, 1);
  return got == 1 && byte == '+' ? "" : "network name spaces need root or user name spaces";
}

}  // namespace

std::string Hosts::address(std::uint32_t host, std::uint32_t interface) { return "10.77." + std::to_string(interface) + "." + std::to_string(host + 1); }

Hosts::Hosts(std::uint32_t count, std::uint32_t interfaces) : own_users_(geteuid() != 0) { trouble_ = make(count, interfaces); }

Hosts::~Hosts() {
  for (const Child& child : children_) {
    kill(child.process, SIGKILL);
    waitpid(child.process, nullptr, 0);
    close(child.answer);
  }
}

/// A process that enters its name spaces, says so and stays.
pid_t Hosts::holder(const ChildBody& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!body().empty() || write(ends[1], "+", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  children_.push_back({process, ends[0]});
  return await_holder(ends[0]).empty() ? process : -1;
}

/// A cable from the host to that interface's switch.
bool Hosts::plug_in(std::uint32_t host, std::uint32_t interface) const {
  const std::string name = name_of(interface), cable = cable_of(host, interface);
  return run_in(switch_, "ip link add " + cable + " type veth peer name " + name + " netns " + std::to_string(hosts_[host]) + " && ip link set " + cable +
                             " master " + bridge_of(interface) + " up") &&
         run(host, "ip address add " + address(host, interface) + "/24 dev " + name + " && ip link set lo up && ip link set " + name + " up");
}

std::string Hosts::make(std::uint32_t count, std::uint32_t interfaces) {
  const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
  switch_ = holder([&]() -> std::string {
    if (unshare(CLONE_NEWNET | (own_users_ ? CLONE_NEWUSER : 0)) != 0) return "no";
    if (!own_users_) return "";
    const bool mapped = write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", "0 " + user + " 1");
    return mapped && write_file("/proc/self/gid_map", "0 " + group + " 1") ? "" : "no";
  });
  if (switch_ < 0) return "network name spaces need root or user name spaces";
  bool well = true;
  for (std::uint32_t each = 0; well && each < interfaces; ++each)
    well = run_in(switch_, "ip link add " + bridge_of(each) + " type bridge && ip link set " + bridge_of(each) + " up");
  for (std::uint32_t host = 0; well && host < count; ++host) {
    hosts_.push_back(holder([&]() -> std::string { return (!own_users_ || enter(switch_, "user")) && unshare(CLONE_NEWNET) == 0 ? "" : "no"; }));
    well = hosts_.back() > 0;
    for (std::uint32_t each = 0; well && each < interfaces; ++each) well = plug_in(host, each);
  }
  return well ? "" : "name spaces can't be connected; is iproute2 there?";
}

bool Hosts::run_in(pid_t space, const std::string& command) const {
  const pid_t process = fork();
  if (process == 0) {
    if ((own_users_ && !enter(switch_, "user")) || !enter(space, "net")) _exit(1);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(1);
  }
  int status = 1;
  waitpid(process, &status, 0);
  return status == 0;
}

bool Hosts::run(std::uint32_t host, const std::string& command) const { return run_in(hosts_[host], command); }
bool Hosts::cut(std::uint32_t host) const { return run_in(switch_, "ip link set " + cable_of(host) + " nomaster"); }
bool Hosts::mend(std::uint32_t host) const { return run_in(switch_, "ip link set " + cable_of(host) + " master " + bridge_of(0)); }

std::string Hosts::losing(std::uint32_t from, const std::string& which) {
  return "nft 'add table ip trial; add chain ip trial arrival { type filter hook input priority 0; }; add rule ip trial arrival ip saddr " + address(from) +
         " " + which + " drop'";
}

bool Hosts::drop(std::uint32_t host, std::uint32_t from, std::uint32_t of_a_hundred) const {
  return run(host, losing(from, of_a_hundred < 100 ? "numgen random mod 100 < " + std::to_string(of_a_hundred) : ""));
}

ChildBody Hosts::on(std::uint32_t host, ChildBody body) const {
  const bool own_users = own_users_;
  const pid_t place = switch_, space = hosts_[host];
  return [own_users, place, space, body = std::move(body)]() -> std::string {
    if ((own_users && !enter(place, "user")) || !enter(space, "net")) return "the host can't be entered";
    // UCX looks for interfaces in sysfs, which shows those of the name space that it was mounted in.
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 || mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
      return "the host's /sys can't be mounted";
    return body();
  };
}

std::uint64_t Hosts::bytes_sent(std::uint32_t host, std::uint32_t interface) const {
  const std::string name = name_of(interface) + ":";
  const Child child = start_child(on(host, [&name]() -> std::string {
    // sysfs shows the name spaces of who mounted it, /proc/self those of who asks
    std::ifstream file("/proc/self/net/dev");
    for (std::string line; std::getline(file, line);) {
      const std::size_t at = line.find(name);
      if (at == std::string::npos) continue;
      unsigned long long received[8], sent = 0;
      std::istringstream words(line.substr(at + name.size()));
      for (unsigned long long& word : received) words >> word;
      return words >> sent ? std::to_string(sent) : "0";
    }
    return "0";
  }));
  return std::stoull("0" + answer_of(child, std::chrono::steady_clock::now() + std::chrono::seconds(10)));
}

void Hosts::set_job(std::uint32_t rank, std::uint32_t size, std::uint32_t per_host, int port) {
  const auto set = [](const char* name, std::uint32_t value) { setenv(name, std::to_string(value).c_str(), 1); };
  set("RANK", rank);
  set("WORLD_SIZE", size);
  set("LOCAL_RANK", rank % per_host);
  set("LOCAL_WORLD_SIZE", per_host);
  set("MASTER_PORT", static_cast<std::uint32_t>(port));
  setenv("MASTER_ADDR", address(0).c_str(), 1);
}

bool can_make_hosts() {
  static const std::string trouble = Hosts(1).trouble();
  if (!trouble.empty()) std::printf("rondo-skip: hosts: %s\n", trouble.c_str());
  return trouble.empty();
}
