// Where the facts come from: the library itself, the system's limits, /proc, /dev and PATH.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/config.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "bootstrap/own_address.hpp"
#include "calibration/file.hpp"
#include "communicator/doctor_checks.hpp"
#include "communicator/doctor_groups.hpp"
#include "communicator/memory_left.hpp"
#include "communicator/transports.hpp"
#include "rondo/communicator.hpp"
#include "rondo/cuda.hpp"
#include "rondo/doctor.hpp"
#include "rondo/kernels.hpp"
#include "topology/files.hpp"
#include "topology/gpu_links.hpp"

namespace rondo {
namespace {

namespace fs = std::filesystem;

/// Names in a folder that isn't there: none.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry{folder, failed}, end; !failed && entry != end; entry.increment(failed)) names.push_back(entry->path().filename().string());
  return names;
}

bool all_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

SystemLimit limit_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit now{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &now);
  SystemLimit limit;
  if (now.rlim_cur != RLIM_INFINITY) limit.soft = now.rlim_cur;
  if (now.rlim_max != RLIM_INFINITY) limit.hard = now.rlim_max;
  return limit;
}

void look_at_library(MachineFacts& facts) {
  facts.version = version();
#if defined(__clang__)
  facts.compiler = "Clang " __clang_version__;
#else
  facts.compiler = "GCC " __VERSION__;
#endif
#ifndef __OPTIMIZE__
  facts.optimised = false;
#endif
#ifdef RONDO_SANITIZED
  facts.sanitized = true;
#endif
  if (auto ucx = find_ucx()) facts.ucx_version = *ucx;
  else facts.ucx_failure = ucx.error().detail;
  facts.cuda_version = cuda_version();
  facts.kernel_target = cpu_kernel_target();
}

void look_at_calibration(MachineFacts& facts, const Environment& environment) {
  const auto config = parse_config(environment);
  if (facts.topology.nodes.empty() || !config) return;  // a wrong variable has a finding of its own
  const auto kept = load_calibration_from(config->cache_folder, facts.topology);
  if (!kept) facts.calibration_failure = to_string(kept.error());
  facts.figures_measured = kept && *kept;
  facts.figures_source = facts.figures_measured ? (*kept)->source : core_figures(facts.topology).source;
}

void look_at_gpus(MachineFacts& facts) {
  const auto& nvml = nvml::facts_of_this_machine();
  if (!nvml) {
    facts.gpu_links_failure = nvml.error().detail;
    return;
  }
  add_gpu_links(facts.topology, *nvml);
  const auto address = [&](std::size_t gpu) { return nvml->gpus[gpu].address; };
  for (const nvml::Apart& pair : nvml->apart) facts.gpus_apart.push_back(address(pair.gpu) + " and " + address(pair.other) + ": " + pair.why);
}

void look_at_machine(MachineFacts& facts) {
  if (auto topology = discover_topology()) {
    facts.topology = std::move(*topology);
    facts.topology.ranks = {place_of_this_thread(facts.topology)};
  } else {
    facts.topology_failure = to_string(topology.error());
  }
  const std::string flags = " " + line_of("/proc/cpuinfo", "flags") + " ";
  facts.virtual_machine = flags.find(" hypervisor ") != std::string::npos;
  for (const char* file : {"/.dockerenv", "/run/.containerenv"})
    if (access(file, F_OK) == 0) facts.container = file;
  facts.nvidia_driver = line_of("/proc/driver/nvidia/version", "NVRM version");
  constexpr std::string_view gpu = "nvidia";
  for (const std::string& name : names_in("/dev"))
    if (name.starts_with(gpu) && all_digits(std::string_view(name).substr(gpu.size())) && access(("/dev/" + name).c_str(), R_OK | W_OK) == 0)
      ++facts.nvidia_devices;
  if (facts.nvidia_devices != 0) look_at_gpus(facts);
  facts.rdma = !names_in("/sys/class/infiniband").empty();
}

/// Threads of this user, which is what `ulimit -u` counts; other name spaces' aren't seen.
std::uint64_t tasks_of_user() {
  std::uint64_t tasks = 0;
  for (const std::string& name : names_in("/proc")) {
    struct stat status {};
    if (!all_digits(name) || stat(("/proc/" + name + "/task").c_str(), &status) != 0 || status.st_uid != getuid()) continue;
    // The folder's links are itself, its parent's entry, and one for each thread.
    if (status.st_nlink > 2) tasks += status.st_nlink - 2;
  }
  return tasks;
}

std::optional<std::uint64_t> tasks_left() {
  auto left = doctor::tasks_left_in_groups();
  const SystemLimit limit = limit_of(RLIMIT_NPROC);
  if (!limit.soft || getuid() == 0) return left;  // root isn't bound by it
  const std::uint64_t here = *limit.soft - std::min(*limit.soft, tasks_of_user());
  return std::min(left.value_or(here), here);
}

/// Empty when a memfd can be made and sealed. Nothing is written, so no limit on sizes is touched.
std::string try_sealing() {
  const Fd file(memfd_create("rondo-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return std::string("cannot make a memfd: ") + std::strerror(errno);
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return std::string("cannot seal a memfd: ") + std::strerror(errno);
  return "";
}

void look_at_limits(MachineFacts& facts) {
  facts.descriptors = limit_of(RLIMIT_NOFILE);
  const auto open = names_in("/proc/self/fd").size();
  facts.open_descriptors = open == 0 ? 0 : open - 1;  // without the one that reads the folder
  facts.file_bytes = limit_of(RLIMIT_FSIZE);
  facts.address_bytes = limit_of(RLIMIT_AS);
  facts.locked_bytes = limit_of(RLIMIT_MEMLOCK);
  facts.tasks_left = tasks_left();
  facts.sealing_failure = try_sealing();
}

std::vector<std::string> launchers_on(const std::string& path) {
  std::vector<std::string> found;
  for (const char* name : {"mpirun.openmpi", "mpirun.mpich", "mpirun"}) {
    std::istringstream folders{path};
    bool here = false;
    for (std::string folder; !here && std::getline(folders, folder, ':');) here = access((folder + "/" + name).c_str(), X_OK) == 0;
    if (here) found.push_back(name);
  }
  // Where each has a name of its own, the short one is one of them.
  if (found.size() > 1 && found.back() == "mpirun") found.pop_back();
  return found;
}

}  // namespace

MachineFacts gather_machine_facts() {
  MachineFacts facts;
  look_at_limits(facts);
  look_at_library(facts);
  look_at_machine(facts);
  const MemoryLeft memory = memory_left();
  facts.memory_bytes = memory.bytes;
  facts.memory_bound = memory.bound;
  for (const NamedAddress& one : addressed_interfaces()) facts.interfaces.emplace(one.interface, one.address);
  const Environment environment = read_environment();
  look_at_calibration(facts, environment);
  facts.environment = doctor::variables_of_interest(environment);
  if (const auto path = environment.find("PATH"); path != environment.end()) facts.launchers = launchers_on(path->second);
  return facts;
}

}  // namespace rondo
