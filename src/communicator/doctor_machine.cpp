// Processors, caches, what the machine runs in, GPUs.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "communicator/doctor_checks.hpp"

namespace rondo::doctor {
namespace {

std::uint64_t count_of(const Topology& topology, NodeKind kind) {
  return static_cast<std::uint64_t>(std::count_if(topology.nodes.begin(), topology.nodes.end(), [&](const Node& node) { return node.kind == kind; }));
}

std::uint64_t links_of(const Topology& topology, std::string_view type) {
  return static_cast<std::uint64_t>(std::count_if(topology.links.begin(), topology.links.end(), [&](const Link& link) { return link.type == type; }));
}

std::string model_of(const Topology& topology) {
  for (const Node& node : topology.nodes)
    if (node.kind == NodeKind::package && !node.detail.empty()) return " (" + node.detail + ")";
  return "";
}

Finding throttled(double quota, std::size_t allowed) {
  const auto all = std::to_string(allowed);
  return {"processors", Verdict::note,
          counted(allowed, "processor") + ", but the control group pays for " + plain_number(quota) + " processors' worth of time: more than " +
              counted(static_cast<std::uint64_t>(std::max(1.0, std::floor(quota))), "rank") +
              " yield instead of spinning, and one that is stopped holds up all",
          "docker update --cpus " + all + " CONTAINER  # Kubernetes: resources.limits.cpu; systemd: systemctl set-property UNIT CPUQuota=" + all + "00%"};
}

}  // namespace

Findings check_processors(const MachineFacts& facts) {
  const Topology& topology = facts.topology;
  if (topology.nodes.empty()) return {{"processors", Verdict::problem, "the machine can't be seen: " + facts.topology_failure, "rondo topo"}};
  const auto seen = count_of(topology, NodeKind::cpu);
  const auto allowed = topology.ranks.empty() ? seen : topology.ranks[0].cpus.size();
  if (topology.cpu_quota > 0 && topology.cpu_quota < static_cast<double>(allowed)) return {throttled(topology.cpu_quota, allowed)};
  const bool all = allowed == seen;
  const std::string count = all ? counted(seen, "processor") : std::to_string(allowed) + " of " + counted(seen, "processor") + " by this process's affinity";
  const std::string meaning = count + model_of(topology);
  const std::string let_go = all ? "" : "taskset -c 0-" + std::to_string(seen - 1) + " COMMAND";
  if (allowed == 1) return {{"processors", Verdict::note, meaning + ": ranks take turns and yield instead of spinning", let_go}};
  return {{"processors", Verdict::ok, meaning + ": so many ranks can spin; more yield", ""}};
}

Findings check_memory_system(const MachineFacts& facts) {
  const Topology& topology = facts.topology;
  if (topology.nodes.empty()) return {};
  const Node* last_cache = nullptr;
  for (const Node& node : topology.nodes)
    if (node.kind == NodeKind::cache && (last_cache == nullptr || node.cpus.size() > last_cache->cpus.size())) last_cache = &node;
  std::string meaning = counted(std::max<std::uint64_t>(1, count_of(topology, NodeKind::package)), "package") + ", " +
                        counted(std::max<std::uint64_t>(1, count_of(topology, NodeKind::numa)), "NUMA node");
  if (last_cache != nullptr)
    meaning += ", " + last_cache->name.substr(0, last_cache->name.find('#')) + " of " + print_size(last_cache->bytes) + " for " +
               counted(last_cache->cpus.size(), "processor");
  return {{"memory system", Verdict::ok, meaning + " (rondo topo shows all)", ""}};
}

Findings check_surroundings(const MachineFacts& facts) {
  std::string meaning = facts.virtual_machine ? "a virtual machine: latencies move with the host's load" : "no hypervisor shows itself";
  if (!facts.container.empty())
    meaning += "; in a container (" + facts.container + "): ranks of one job meet only within one network name space";
  return {{"surroundings", Verdict::ok, meaning, ""}};
}

Findings check_gpus(const MachineFacts& facts) {
  const auto on_bus = count_of(facts.topology, NodeKind::gpu);
  if (facts.nvidia_driver.empty() && facts.nvidia_devices == 0)
    return {{"GPUs", Verdict::ok, on_bus == 0 ? "none is visible" : counted(on_bus, "GPU") + " without an NVIDIA driver", ""}};
  if (facts.nvidia_devices == 0)
    return {{"GPUs", Verdict::note, "the NVIDIA driver is loaded (" + facts.nvidia_driver + "), but no GPU is visible in here",
             facts.container.empty() ? "nvidia-smi" : "docker run --gpus all IMAGE"}};
  Finding finding{"GPUs", Verdict::ok, counted(facts.nvidia_devices, "NVIDIA GPU"), ""};
  if (!facts.nvidia_driver.empty()) finding.meaning += " (" + facts.nvidia_driver + ")";
  if (const auto wires = links_of(facts.topology, "nvlink"); wires != 0) finding.meaning += ", with " + counted(wires, "NVLink connection");
  if (!facts.gpu_links_failure.empty()) finding.meaning += "; what links them isn't known: " + facts.gpu_links_failure;
  if (facts.cuda_version.empty()) {
    finding.meaning += "; built without CUDA: collectives take buffers in host memory alone";
    finding.remedy = "nvcc --version  # 12.3 or newer, then configure and build anew";
  }
  if (!facts.gpus_apart.empty())
    finding.meaning += "; " + counted(facts.gpus_apart.size(), "pair") + " of them can't reach one another's memory, such as " + facts.gpus_apart.front();
  if (!facts.cuda_version.empty() && facts.gpus_apart.empty() && facts.gpu_links_failure.empty()) return {finding};
  finding.verdict = Verdict::note;
  return {finding};
}

}  // namespace rondo::doctor
