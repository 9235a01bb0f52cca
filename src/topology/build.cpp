#include "topology/build.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/costs.hpp"
#include "topology/devices.hpp"

namespace rondo {
namespace {

using hwloc::Object;

bool is_memory(const Object& object) {
  return object.type == "NUMANode";
}

// A memory-side cache stands between a memory and what it belongs to.
const Object* memory_in(const Object& object) {
  if (is_memory(object)) return &object;
  if (object.type != "MemCache") return nullptr;
  for (const Object& child : object.children)
    if (const Object* memory = memory_in(child)) return memory;
  return nullptr;
}

bool is_device(const Object& object) {
  return object.type == "PCIDev" || object.type == "OSDev";
}

class Builder {
 public:
  Builder(const hwloc::File& file, const std::map<std::string, double>& speeds) : file_(file), speeds_(speeds) {}

  Topology build(const std::string& identity) {
    topology_.hosts.push_back(identity);
    add_object(file_.machine, -1);
    drop_empty();
    add_containment_links(topology_, read_);
    add_matrices();
    add_network();
    return std::move(topology_);
  }

 private:
  std::uint32_t add_node(NodeKind kind, std::string name, std::int32_t parent, const Object& object) {
    const auto index = static_cast<std::uint32_t>(topology_.nodes.size());
    topology_.nodes.push_back({kind, std::move(name), parent, 0, object.bytes, {}, {}, object.pci_address});
    read_.push_back({object.pci_bytes_per_s, "PCI link speed as hwloc read it"});
    objects_.push_back(&object);
    return index;
  }

  // Objects are numbered in the file's order, one count for each sort, so a name means the same in any part of it.
  std::string numbered(const std::string& sort) { return sort + "#" + std::to_string(counts_[sort]++); }

  void add_children(const Object& object, std::int32_t parent) {
    for (const Object& child : object.children) add_object(child, parent);
  }

  void add_object(const Object& object, std::int32_t parent) {
    if (object.type == "PU")
      add_processor(object, parent);
    else if (is_device(object))
      add_device(object, parent);
    else if (object.type == "Bridge")
      add_bridge(object, parent);
    else if (is_memory(object))  // hwloc 1 nests what a memory serves inside it
      add_children(object, static_cast<std::int32_t>(add_memory(object, parent)));
    else if (object.type != "Misc")
      add_container(object, parent);
  }

  void add_processor(const Object& object, std::int32_t parent) {
    constexpr std::int64_t most = 1 << 20;  // a number beyond this, or seen before, comes from a damaged file
    if (object.os_index < 0 || object.os_index >= most || !processors_.insert(object.os_index).second) return;
    const auto number = static_cast<std::uint32_t>(object.os_index);
    if (!file_.allowed.empty() && !std::binary_search(file_.allowed.begin(), file_.allowed.end(), number)) return;
    add_node(NodeKind::cpu, std::string("cpu#") + std::to_string(number), parent, object);
    topology_.nodes.back().cpus.push_back(number);
    for (std::int32_t up = parent; up >= 0; up = topology_.nodes[up].parent) topology_.nodes[up].cpus.push_back(number);
  }

  std::uint32_t add_memory(const Object& object, std::int32_t parent) {
    const std::uint32_t index = add_node(NodeKind::numa, numbered("numa"), parent, object);
    topology_.nodes[index].detail = object.subtype;
    for (const hwloc::MemoryFigure& figure : file_.memory_figures)
      if (figure.bandwidth && figure.gp_index == object.gp_index)
        read_[index] = {figure.value * 1024 * 1024, "memory bandwidth that the firmware states"};
    return index;
  }

  // A machine, package, die, group, cache or core, and the memory beside what it holds: since hwloc 2 a memory is no
  // ancestor of the cores it serves, but here the first one that serves any becomes that.
  void add_container(const Object& object, std::int32_t parent) {
    std::int32_t inside = add_own_node(object, parent);
    std::vector<const Object*> memories;
    for (const Object& child : object.children)
      if (const Object* memory = is_memory(child) && !child.children.empty() ? nullptr : memory_in(child))
        memories.push_back(memory);
    bool contained = false;
    for (const Object* memory : memories) {
      const bool serves = memory->cpuset != "0x0" && memory->subtype != "HBM" && memory->subtype != "MCDRAM";
      const std::uint32_t index = add_memory(*memory, inside);
      if (!serves || contained) continue;
      contained = true;
      inside = static_cast<std::int32_t>(index);
    }
    for (const Object& child : object.children) {
      const Object* memory = memory_in(child);
      const bool added = memory != nullptr && std::find(memories.begin(), memories.end(), memory) != memories.end();
      if (!added) add_object(child, inside);
    }
  }

  std::int32_t add_own_node(const Object& object, std::int32_t parent) {
    const std::string& type = object.type;
    if (object.instructions) return parent;
    const auto add = [&](NodeKind kind, const std::string& name) {
      return static_cast<std::int32_t>(add_node(kind, name, parent, object));
    };
    if (type == "Machine") return add_machine(object, parent);
    if (type == "Package") {
      const std::int32_t index = add(NodeKind::package, numbered("package"));
      topology_.nodes[index].detail = info(object, "CPUModel");
      return index;
    }
    if (type == "Core") return add(NodeKind::core, numbered("core"));
    if (object.cache_level > 0) return add(NodeKind::cache, numbered(type.substr(0, 2)));
    if (type == "Die" || (type == "Group" && object.children.size() > 1)) {
      const bool has_memory = std::any_of(object.children.begin(), object.children.end(), is_memory);
      return has_memory ? parent : add(NodeKind::other, numbered(type == "Die" ? "die" : "group"));
    }
    return parent;
  }

  std::int32_t add_machine(const Object& object, std::int32_t parent) {
    if (parent >= 0) return parent;
    std::string name = info(object, "HostName");
    const auto index = static_cast<std::int32_t>(
        add_node(NodeKind::machine, name.empty() ? "machine" : std::move(name), parent, object));
    topology_.nodes[index].detail = info(object, "DMIProductName");
    return index;
  }

  void add_bridge(const Object& object, std::int32_t parent) {
    const bool named = !object.host_bridge && !object.pci_address.empty();
    const std::string name = named ? std::string("bridge ") + object.pci_address : numbered("hostbridge");
    add_children(object, static_cast<std::int32_t>(add_node(NodeKind::pci_bridge, name, parent, object)));
  }

  void add_device(const Object& object, std::int32_t parent) {
    DeviceFacts facts = classify_device(object);
    if (facts.kind == NodeKind::gpu) facts.name = numbered("gpu");
    if (facts.kind == NodeKind::net_switch) facts.name = numbered("nvswitch");
    if (facts.name.empty())
      facts.name = object.pci_address.empty() ? numbered("device") : std::string("pci ") + object.pci_address;
    const std::uint32_t index = add_node(facts.kind, facts.name, parent, object);
    topology_.nodes[index].detail = facts.detail;
  }

  static std::string info(const Object& object, const char* key) {
    const auto found = object.infos.find(key);
    return found == object.infos.end() ? std::string{} : found->second;
  }

  // Containers whose processors are all forbidden, and bridges to nothing, say nothing.
  void drop_empty() {
    std::vector<bool> kept(topology_.nodes.size());
    for (std::size_t n = topology_.nodes.size(); n-- > 0;) {
      Node& node = topology_.nodes[n];
      std::sort(node.cpus.begin(), node.cpus.end());
      const bool needs_content = node.kind == NodeKind::package || node.kind == NodeKind::cache ||
                                 node.kind == NodeKind::core || node.kind == NodeKind::pci_bridge ||
                                 node.name.starts_with("die#") || node.name.starts_with("group#");
      kept[n] = kept[n] || !needs_content || !node.cpus.empty();
      if (kept[n] && node.parent >= 0) kept[node.parent] = true;
    }
    std::vector<std::int32_t> moved(topology_.nodes.size(), -1);
    std::size_t next = 0;
    for (std::size_t n = 0; n < topology_.nodes.size(); ++n) {
      if (!kept[n]) continue;
      moved[n] = static_cast<std::int32_t>(next);
      if (topology_.nodes[n].parent >= 0) topology_.nodes[n].parent = moved[topology_.nodes[n].parent];
      if (next != n) topology_.nodes[next] = std::move(topology_.nodes[n]);
      objects_[next] = objects_[n];
      read_[next] = read_[n];
      ++next;
    }
    topology_.nodes.resize(next);
    objects_.resize(next);
    read_.resize(next);
  }

  // Elements name objects; a device's system names stand for the device that holds them.
  void map_objects(const Object& object, std::uint32_t node, std::map<std::uint64_t, std::uint32_t>& by_gp) const {
    if (object.gp_index != 0) by_gp[object.gp_index] = node;
    if (is_device(object))
      for (const Object& child : object.children) map_objects(child, node, by_gp);
  }

  void add_matrices() {
    std::map<std::uint64_t, std::uint32_t> by_gp;
    std::map<std::uint64_t, std::uint32_t> memory_by_os;
    for (std::uint32_t n = 0; n < topology_.nodes.size(); ++n) {
      map_objects(*objects_[n], n, by_gp);
      if (topology_.nodes[n].kind == NodeKind::numa)
        memory_by_os[static_cast<std::uint64_t>(objects_[n]->os_index)] = n;
    }
    for (const hwloc::Matrix& matrix : file_.matrices) {
      std::vector<std::int64_t> nodes;
      for (const auto& element : matrix.elements) {
        const auto& index = element.by_os_index ? memory_by_os : by_gp;
        const bool known = !element.by_os_index || element.type == "NUMANode";
        const auto found = index.find(element.index);
        nodes.push_back(known && found != index.end() ? static_cast<std::int64_t>(found->second) : -1);
      }
      add_matrix(matrix, nodes);
    }
  }

  void add_matrix(const hwloc::Matrix& matrix, const std::vector<std::int64_t>& nodes) {
    const std::size_t n = nodes.size();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        if (nodes[i] < 0 || nodes[j] < 0 || nodes[i] == nodes[j]) continue;
        const auto from = static_cast<std::uint32_t>(nodes[i]);
        const auto to = static_cast<std::uint32_t>(nodes[j]);
        const double there = matrix.values[i * n + j];
        const double back = matrix.values[j * n + i];
        if (matrix.bandwidth)
          add_bandwidth(matrix.name, from, to, there > 0 && back > 0 ? std::min(there, back) : std::max(there, back));
        else if (matrix.values[i * n + i] > 0)
          add_distance(from, to, std::max(there, back) / matrix.values[i * n + i]);
      }
  }

  void add_bandwidth(const std::string& matrix, std::uint32_t from, std::uint32_t to, double megabytes_per_s) {
    if (megabytes_per_s <= 0) return;
    std::string type = matrix.substr(0, matrix.find("Bandwidth"));
    for (char& letter : type) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
    if (type.empty()) type = "link";
    if (!linked_.insert({std::min(from, to), std::max(from, to), type}).second) return;
    const Figure bandwidth{megabytes_per_s * 1e6, Provenance::read, std::string("hwloc distances ") + matrix};
    add_link(from, to, type, bandwidth, device_link_latency());
  }

  void add_link(std::uint32_t from, std::uint32_t to, const std::string& type, const Figure& bandwidth,
                const Figure& latency) {
    Link& link = topology_.links.emplace_back();
    link.from = from;
    link.to = to;
    link.type = type;
    link.bandwidth_bytes_per_s = bandwidth;
    link.latency_ns = latency;
  }

  // Relative distances between memories that serve processors; other latencies come without a unit and are left out.
  void add_distance(std::uint32_t from, std::uint32_t to, double ratio) {
    const bool memories = topology_.nodes[from].kind == NodeKind::numa && topology_.nodes[to].kind == NodeKind::numa;
    if (!memories || !linked_.insert({std::min(from, to), std::max(from, to), "numa"}).second) return;
    add_link(from, to, "numa", distance_bandwidth(), distance_latency(ratio));
  }

  // The network is one node that every interface of the machine reaches.
  void add_network() {
    const std::size_t own = topology_.nodes.size();
    std::int64_t network = -1;
    for (std::uint32_t n = 0; n < own; ++n) {
      if (topology_.nodes[n].kind != NodeKind::nic) continue;
      if (network < 0) {
        network = static_cast<std::int64_t>(topology_.nodes.size());
        topology_.nodes.push_back({NodeKind::net_switch, "network", -1, 0, 0, {}, {}});
      }
      const auto speed = speeds_.find(topology_.nodes[n].name);
      Figure bandwidth = network_bandwidth();
      if (speed != speeds_.end()) bandwidth = {speed->second, Provenance::read, "/sys/class/net"};
      add_link(n, static_cast<std::uint32_t>(network), "network", bandwidth, network_latency());
    }
  }

  const hwloc::File& file_;
  const std::map<std::string, double>& speeds_;
  Topology topology_;
  std::vector<ReadFigures> read_;
  std::vector<const Object*> objects_;
  std::map<std::string, std::uint32_t> counts_;
  std::set<std::int64_t> processors_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> linked_;
};

}  // namespace

Topology build_topology(const hwloc::File& file, const std::string& identity,
                        const std::map<std::string, double>& network_speeds) {
  return Builder(file, network_speeds).build(identity);
}

}  // namespace rondo
