// NCCL's topology XML, versions 1 and 2, and RCCL's: processors, PCI as it is nested, GPUs with their links, network interfaces.
#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/xml_element.hpp"
#include "rondo/topology.hpp"
#include "topology/accelerators.hpp"
#include "topology/costs.hpp"
#include "topology/identity.hpp"
#include "topology/wires.hpp"

namespace rondo {
namespace {

constexpr int deepest_switch = 64;             // PCI switches within switches
constexpr std::int64_t most = 1'000'000;       // of links of one sort, of a device's number
constexpr std::size_t most_in_mask = 1u << 16;

NodeKind kind_of_pci(std::string_view pci_class, const pugi::xml_node& pci) {
  if (pci.child("gpu")) return NodeKind::gpu;
  if (pci.child("nic")) return NodeKind::nic;
  if (pci_class.starts_with("0x0604")) return NodeKind::pci_bridge;
  if (pci_class.starts_with("0x0680")) return NodeKind::net_switch;
  if (pci_class.starts_with("0x03") || pci_class.starts_with("0x12")) return NodeKind::gpu;
  if (pci_class.starts_with("0x02") || pci_class.starts_with("0x0c06")) return NodeKind::nic;
  return pci.child("pci") ? NodeKind::pci_bridge : NodeKind::other;
}

/// Processors of a mask of 32-bit words in hexadecimal, the most significant first; nothing if it isn't one.
std::optional<std::vector<std::uint32_t>> parse_affinity(std::string_view text) {
  std::vector<std::uint32_t> cpus;
  std::uint32_t base = 0;
  while (!text.empty()) {
    const std::size_t comma = text.rfind(',');
    const std::string_view word = comma == std::string_view::npos ? text : text.substr(comma + 1);
    std::uint32_t bits = 0;
    const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    if (word.empty() || code != std::errc{} || stop != word.data() + word.size() || base >= most_in_mask) return std::nullopt;
    for (std::uint32_t bit = 0; bit < 32; ++bit)
      if ((bits >> bit & 1) != 0) cpus.push_back(base + bit);
    base += 32;
    if (comma == std::string_view::npos) return cpus;
    text = text.substr(0, comma);
    if (text.empty()) return std::nullopt;
  }
  return cpus;
}

/// RCCL writes "gfx90a", older ones 910 for it.
std::int64_t parse_gcn(std::string_view text) {
  const bool name = text.starts_with("gfx") && text.size() > 5;
  if (name) text.remove_prefix(3);
  const std::string_view digits = name ? text.substr(0, text.size() - 2) : text;
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto hexadecimal = [&](char digit) { return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : digit >= '0' && digit <= '9' ? digit - '0' : 0; };
  return name ? number % 1000 * 100 + hexadecimal(text[text.size() - 2]) * 10 + hexadecimal(text.back()) : number;
}

constexpr std::string_view processor_bridge = "0x068001";  ///< the class of a processor's end of a wire
constexpr std::string_view pci_bridge = "0x0604";           ///< likewise, on other machines
constexpr std::string_view other_bridge = "0x0680";         ///< a switch's, where it isn't a processor's

Wire::End end_of(std::string_view target_class) {
  if (target_class.starts_with(processor_bridge) || target_class.starts_with(pci_bridge)) return Wire::End::processor;
  return target_class.starts_with(other_bridge) ? Wire::End::switches : Wire::End::device;
}

class Reader {
 public:
  Result<Topology> run(std::string_view text) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed)
      problem_.report("not well-formed XML at " + line_and_column(text, static_cast<std::size_t>(parsed.offset)) + ": " + parsed.description());
    const pugi::xml_node root = document.document_element();
    if (!problem_.any() && std::string_view(root.name()) != "system")
      problem_.report("expected the root element <system>, found <" + std::string(root.name()) + ">");
    if (problem_.any()) return problem_.error();
    XmlElement system(root, nullptr, nullptr, problem_);
    const std::int64_t version = system.number_or("version", 1, 1, 2);
    add_machines(system);
    if (problem_.any()) return problem_.error();
    add_containment_links(topology_, read_);
    set_processor_links();
    add_wires(topology_, wires_);
    add_network();
    if (problem_.any()) return problem_.error();
    topology_.nodes.front().detail = "NCCL topology, version " + std::to_string(version);
    for (std::size_t host = 0; host < topology_.hosts.size(); ++host)
      topology_.hosts[host] = identity_of("nccl", text) + (host == 0 ? "" : "-" + std::to_string(host));
    return std::move(topology_);
  }

 private:
  std::uint32_t add_node(NodeKind kind, std::string name, std::int32_t parent, std::string detail = {}) {
    const auto index = static_cast<std::uint32_t>(topology_.nodes.size());
    const std::uint32_t host = parent >= 0 ? topology_.nodes[parent].host : static_cast<std::uint32_t>(topology_.hosts.size() - 1);
    topology_.nodes.push_back({kind, std::move(name), parent, host, 0, {}, std::move(detail)});
    read_.emplace_back();
    return index;
  }

  std::string numbered(const std::string& sort) { return sort + "#" + std::to_string(counts_[sort]++); }

  /// One machine, or one for each host_hash where the file has several.
  void add_machines(XmlElement& system) {
    std::map<std::string, std::vector<pugi::xml_node>> by_host;
    std::vector<std::string> hosts;
    for (const pugi::xml_node cpu : system.node().children("cpu")) {
      const std::string host = cpu.attribute("host_hash").value();
      if (by_host.find(host) == by_host.end()) hosts.push_back(host);
      by_host[host].push_back(cpu);
    }
    if (hosts.empty()) return problem_.report("system: expected a <cpu> in it");
    for (const std::string& host : hosts) {
      topology_.hosts.push_back(host);
      const auto machine = static_cast<std::int32_t>(add_node(NodeKind::machine, hosts.size() == 1 ? "machine" : numbered("machine"), -1));
      for (const pugi::xml_node cpu : by_host[host])
        if (!problem_.any()) add_processor(cpu, system, machine);
      std::vector<std::uint32_t>& cpus = topology_.nodes[machine].cpus;
      std::sort(cpus.begin(), cpus.end());
      cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    }
  }

  void add_processor(const pugi::xml_node& node, const XmlElement& system, std::int32_t machine) {
    XmlElement cpu(node, "numaid", &system, problem_);
    const std::int64_t number = cpu.number("numaid", -1, most);
    const std::uint32_t index = add_node(NodeKind::numa, "numa#" + std::to_string(number), machine, std::string(cpu.text_or("vendor", "")));
    if (cpu.has("affinity")) {
      const auto cpus = parse_affinity(cpu.text("affinity"));
      if (!cpus)
        return cpu.expected("affinity", "words of 32 bits in hexadecimal with commas between them, " + std::to_string(most_in_mask) + " processors at most");
      topology_.nodes[index].cpus = *cpus;
      auto& all = topology_.nodes[machine].cpus;
      all.insert(all.end(), cpus->begin(), cpus->end());
    }
    processors_.emplace_back(index, processor_link_bandwidth(cpu.text_or("arch", ""), cpu.text_or("vendor", ""), cpu.number_or("familyid", 0, 0, most),
                                                             cpu.number_or("modelid", 0, 0, most)));
    add_devices(cpu, index, 0);
  }

  void add_devices(const XmlElement& inside, std::uint32_t parent, int depth) {
    for (const pugi::xml_node child : inside.node().children()) {
      if (problem_.any()) return;
      const std::string_view name = child.name();
      if (name == "pci") add_pci(child, inside, parent, depth);
      if (name == "nic") add_nets(XmlElement(child, nullptr, &inside, problem_), parent);
    }
  }

  void add_pci(const pugi::xml_node& node, const XmlElement& inside, std::uint32_t parent, int depth) {
    XmlElement pci(node, "busid", &inside, problem_);
    if (depth == deepest_switch) return pci.report("more than " + std::to_string(deepest_switch) + " PCI devices within one another");
    const std::string address(pci.text("busid"));
    const NodeKind kind = kind_of_pci(pci.text_or("class", ""), node);
    std::string name = name_of(kind, address);
    const std::string detail = name.ends_with(address) ? "" : address;
    const std::uint32_t index = add_node(kind, std::move(name), static_cast<std::int32_t>(parent), detail);
    if (kind != NodeKind::pci_bridge) topology_.nodes[index].address = address;
    if (kind != NodeKind::pci_bridge && !addresses_.insert(address).second) return pci.report("busid " + in_quotes(address) + " stands there twice");
    const std::int64_t width = pci.number_or("link_width", 0, 0, 64);
    const Figure speed = pci_bandwidth(pci.text_or("link_speed", ""), width == 0 ? 16 : width);
    if (speed.value > 0) read_[index] = {speed.value, speed.source};
    if (kind == NodeKind::gpu) add_gpu(pci, index);
    if (kind == NodeKind::nic) interfaces_.emplace_back(index, fast_network_bandwidth());
    for (const pugi::xml_node nic : node.children("nic")) add_nets(XmlElement(nic, nullptr, &pci, problem_), index);
    for (const pugi::xml_node child : node.children("pci"))
      if (!problem_.any()) add_pci(child, pci, index, depth + 1);
  }

  std::string name_of(NodeKind kind, const std::string& address) {
    if (kind == NodeKind::gpu) return numbered("gpu");
    if (kind == NodeKind::net_switch) return numbered("nvswitch");
    if (kind == NodeKind::nic) return numbered("nic");
    return (kind == NodeKind::pci_bridge ? "bridge " : "pci ") + address;
  }

  void add_gpu(const XmlElement& pci, std::uint32_t index) {
    const pugi::xml_node node = pci.node().child("gpu");
    if (!node) return;
    XmlElement gpu(node, "dev", &pci, problem_);
    const std::int64_t sm = gpu.number_or("sm", 0, 0, most);
    const std::int64_t gcn = parse_gcn(gpu.text_or("gcn", ""));
    std::string& detail = topology_.nodes[index].detail;
    if (gpu.has("dev")) detail += ", dev " + std::to_string(gpu.number("dev", -1, most));
    detail += ", sm " + std::to_string(sm);
    for (const char* type : {"nvlink", "xgmi"})
      for (const pugi::xml_node child : node.children(type)) {
        XmlElement wire(child, "target", &gpu, problem_);
        const bool nvidia = std::string_view(type) == "nvlink";
        const std::int64_t count = wire.number_or("count", 1, 0, most);
        if (count > 0)
          wires_.push_back({index, end_of(wire.text_or("tclass", "")), std::string(wire.text("target")), type, count,
                            nvidia ? nvlink_bandwidth(sm) : xgmi_bandwidth(gcn)});
      }
    add_processor_wires(gpu, index);
  }

  /// A GPU's links to the processor that it shares a module with; what they carry is in the file, in MB/s.
  void add_processor_wires(const XmlElement& gpu, std::uint32_t index) {
    for (const pugi::xml_node child : gpu.node().children("c2c")) {
      XmlElement wire(child, nullptr, &gpu, problem_);
      const std::int64_t count = wire.number("count", 0, most);
      const auto megabytes = static_cast<double>(wire.number("bw", 0, 1'000'000'000));
      if (count > 0 && megabytes > 0) wires_.push_back({index, Wire::End::processor, {}, "c2c", count, {megabytes * 1e6, Provenance::read, "bw of the c2c"}});
    }
  }

  /// The ports of an interface: the first is the PCI device itself where there is one.
  void add_nets(const XmlElement& nic, std::uint32_t parent) {
    bool own = topology_.nodes[parent].kind == NodeKind::nic && std::none_of(ports_.begin(), ports_.end(), [&](std::uint32_t port) { return port == parent; });
    for (const pugi::xml_node child : nic.node().children("net")) {
      XmlElement net(child, "name", &nic, problem_);
      const std::int64_t megabits = net.number_or("speed", 0, 0, 100'000'000);
      const Figure speed = megabits > 0 ? Figure{static_cast<double>(megabits) * 1e6 / 8, Provenance::read, "speed of the net"} : fast_network_bandwidth();
      const std::string name(net.text_or("name", ""));
      if (own) {
        if (!name.empty()) topology_.nodes[parent].name = name;
        interfaces_.back().second = speed;
        ports_.push_back(parent);
        own = false;
        continue;
      }
      const std::uint32_t index = add_node(NodeKind::nic, name.empty() ? numbered("nic") : name, static_cast<std::int32_t>(parent));
      interfaces_.emplace_back(index, speed);
      ports_.push_back(index);
    }
  }

  void set_processor_links() {
    for (const auto& [node, bandwidth] : processors_)
      for (Link& link : topology_.links)
        if (link.from == node && topology_.nodes[node].parent == static_cast<std::int32_t>(link.to)) link.bandwidth_bytes_per_s = bandwidth;
  }

  void add_network() {
    if (interfaces_.empty()) return;
    const std::uint32_t network = add_node(NodeKind::net_switch, "network", -1);
    topology_.nodes[network].host = 0;
    for (const auto& [node, bandwidth] : interfaces_) topology_.links.push_back({node, network, "network", bandwidth, network_latency()});
  }

  Topology topology_;
  std::vector<ReadFigures> read_;
  std::vector<std::pair<std::uint32_t, Figure>> processors_;
  std::vector<std::pair<std::uint32_t, Figure>> interfaces_;
  std::vector<std::uint32_t> ports_;  // interfaces whose speed is told
  std::vector<Wire> wires_;
  std::set<std::string> addresses_;  // of PCI devices
  std::map<std::string, std::uint32_t> counts_;
  Problem problem_{"read_nccl_xml", Errc::invalid_argument};
};

}  // namespace

Result<Topology> read_nccl_xml(std::string_view text) {
  auto topology = Reader().run(text);
  if (!topology) topology.error().detail = "not a topology of NCCL's: " + topology.error().detail;
  return topology;
}

}  // namespace rondo
