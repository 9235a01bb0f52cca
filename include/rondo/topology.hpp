/// @defgroup topology Topology
/// The machine as a graph: typed nodes, links with bandwidth and latency, and where the ranks sit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/result.hpp"

namespace rondo {
/// @addtogroup topology
/// @{

/// What a node of the graph stands for. `cpu` is a hardware thread, `other` what hwloc shows beside these.
enum class NodeKind : std::uint8_t { machine, package, numa, cache, core, cpu, pci_bridge, gpu, nic, net_switch, other };

/// Where a figure comes from: measured here, read from a file or the operating system, or a default for its class.
enum class Provenance : std::uint8_t { probed, read, assumed };

/// A number that says where it comes from.
struct Figure {
  double value = 0;                             ///< in the unit that the field's name ends with
  Provenance provenance = Provenance::assumed;  ///< where it comes from
  std::string source;                           ///< the same in words, such as "hwloc distances NVLinkBandwidth", "default for a shared L3"
};

/// A part of a machine.
struct Node {
  NodeKind kind = NodeKind::other;  ///< what it is
  std::string name;              ///< such as "L3#0", "core#1", "eth0"
  std::int32_t parent = -1;      ///< index of the containing node; −1 for a machine
  std::uint32_t host = 0;        ///< which machine of the graph
  std::uint64_t bytes = 0;       ///< cache or memory size; 0 where it has none
  std::vector<std::uint32_t> cpus;  ///< operating-system numbers of the processors below it
  std::string detail;            ///< model, PCI address, link speed: for people
  std::string address = {};      ///< a device's on PCI, as the kernel writes it ("0000:1b:00.0"); empty: none
};

/// A link between two nodes, usable in both directions at these figures each.
struct Link {
  std::uint32_t from = 0;        ///< index of one node
  std::uint32_t to = 0;          ///< index of the other
  std::string type;              ///< "memory", "cache", "pci", "nvlink", "network", ...
  Figure bandwidth_bytes_per_s;  ///< in one direction
  Figure latency_ns;             ///< in one direction
};

/// Where one rank runs.
struct RankPlace {
  std::uint32_t host = 0;            ///< which machine of the graph
  std::int64_t process = 0;          ///< process id on that host
  std::vector<std::uint32_t> cpus;   ///< processors it may run on
  std::int32_t node = -1;            ///< deepest node that contains all of them
};

/// What crossing from one rank to another costs, summed (latency) and narrowed (bandwidth) along the path.
struct PathCost {
  double latency_ns = 0;                        ///< of all links on the path
  double bandwidth_bytes_per_s = 0;             ///< of the narrowest link on the path
  Provenance provenance = Provenance::assumed;  ///< the weakest on the path
};

/// One or more machines and the ranks on them.
struct Topology {
  std::vector<Node> nodes;   ///< parents come before children
  std::vector<Link> links;   ///< between nodes
  std::vector<RankPlace> ranks;  ///< by rank; empty: none are placed yet
  double cpu_quota = 0;      ///< processors' worth of time the cgroup grants on host 0; 0 = no limit
  std::vector<std::string> hosts;  ///< identities of the machines, as host_identity() tells them

  /// Cost between two ranks; ranks on one processor get that processor's own figures.
  PathCost between(std::uint32_t rank_a, std::uint32_t rank_b) const;

  /// Processors that the ranks of host `host` may use, bounded by the cgroup's quota (≥ 1).
  std::uint32_t usable_cpus(std::uint32_t host) const;
};

/// Discovers this machine with hwloc: cores, caches, NUMA nodes, PCI devices, network interfaces, GPUs where hwloc shows
/// them. Respects cpuset and cgroup quota. hwloc is asked once a process, which takes it some milliseconds. Thread-safe.
Result<Topology> discover_topology();

/// Adds to a topology that discover_topology() made what NVIDIA's driver tells of its GPUs: NVLinks between them, and to switches and processors. Loads NVML
/// for that, which takes up to a second where no other program has the driver awake; it is asked once a process. Nothing to do without GPUs. Thread-safe.
/// Error unsupported: why the driver can't be asked; the topology is as it was.
Result<void> add_gpu_links(Topology& topology);

/// Reads hwloc XML text. Errors name what was expected.
Result<Topology> read_hwloc_xml(std::string_view text);
/// Reads NCCL's topology XML (versions 1 and 2), or RCCL's: GPUs, what links them, PCI and network interfaces. Figures that the file doesn't tell are assumed,
/// as NCCL does. Errors: invalid_argument, with the element that is wrong and what was expected.
Result<Topology> read_nccl_xml(std::string_view text);
/// Reads an hwloc synthetic string ("package:2 l3:2 core:4 pu:1"). Errors name what was expected.
Result<Topology> read_synthetic(std::string_view description);

/// FILE or SPEC as `rondo topo --from` takes it: an existing file's path, else a made-up fabric (docs/topologies.md), else a synthetic string.
Result<Topology> load_topology(const std::string& file_or_spec);

/// `n` ranks spread over the processors of a topology, or over the GPUs of one that has no processors, one on each in their order, wrapping around.
Topology with_ranks(Topology topology, std::uint32_t n);

/// Where the calling thread may run in `topology`, which discover_topology() made on this machine: a rank's view is that
/// topology with this place in `ranks`.
RankPlace place_of_this_thread(const Topology& topology);

/// The largest cache that `core`, a node of `topology`, has alone, in bytes; 0 when none is known.
std::uint64_t core_cache_bytes(const Topology& topology, const Node& core);
/// The largest cache that only one core of rank `rank` has, in bytes; 0 when none is known.
std::uint64_t private_cache_bytes(const Topology& topology, std::uint32_t rank);

/// One graph from the ranks' own views: machines that are the same (by host identity) merge, each rank keeps its place.
/// `views[r]` is rank r's topology with exactly one rank in it.
Topology merge(const std::vector<Topology>& views);

/// Identity of this machine for merging: equal on all processes of one booted kernel. Errors: out_of_resources without a descriptor.
Result<std::string> host_identity();

std::string print_topology(const Topology& topology);        ///< text for a person, a node a line
std::string write_topology_json(const Topology& topology);   ///< the whole graph, as read_topology_json() reads it
Result<Topology> read_topology_json(std::string_view text);  ///< the reverse; errors name what was expected
std::string draw_topology_svg(const Topology& topology);     ///< a picture: boxes in boxes, ranks in theirs

std::string_view to_string(NodeKind kind);          ///< "machine", ...
std::string_view to_string(Provenance provenance);  ///< "probed", ...

/// @}
}  // namespace rondo
