#include "topology/devices.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace rondo {
namespace {

constexpr unsigned vendor_nvidia = 0x10de;
constexpr unsigned vendor_amd = 0x1002;
constexpr unsigned vendor_intel = 0x8086;

// PCI's class codes: the upper byte is the base class.
constexpr unsigned class_display = 0x03;
constexpr unsigned class_vga = 0x0300;
constexpr unsigned class_accelerator = 0x12;
constexpr unsigned class_network = 0x02;
constexpr unsigned class_infiniband = 0x0c06;
constexpr unsigned class_bridge_other = 0x0680;

void collect_os_devices(const hwloc::Object& object, std::vector<const hwloc::Object*>& found) {
  if (object.type == "OSDev") found.push_back(&object);
  for (const hwloc::Object& child : object.children) collect_os_devices(child, found);
}

using OsDevices = std::vector<const hwloc::Object*>;

bool any_device(const OsDevices& devices, unsigned bits) {
  return std::any_of(devices.begin(), devices.end(), [&](const auto* device) { return (device->device & bits) != 0; });
}

// The kernel's "card0" stands for any display, the one in a server's management controller too.
bool has_gpu_driver(const OsDevices& devices) {
  return std::any_of(devices.begin(), devices.end(), [](const auto* device) {
    const std::string& name = device->name;
    const bool display = name.starts_with("card") || name.starts_with("renderD") || name.starts_with("controlD") ||
                         name.starts_with(":");
    return (device->device & hwloc::coprocessor) != 0 || ((device->device & hwloc::gpu) != 0 && !display);
  });
}

bool has_render_node(const OsDevices& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [](const auto* device) { return device->name.starts_with("renderD"); });
}

// Without a driver's word the PCI class decides. AMD (then ATI) also made the plain displays of old servers.
bool is_gpu(const hwloc::Object& object, const OsDevices& devices) {
  if (has_gpu_driver(devices)) return true;
  const unsigned base = object.pci_class >> 8;
  const bool fits = base == class_display || base == class_accelerator;
  if (object.pci_vendor == vendor_amd) return fits && (object.pci_class != class_vga || has_render_node(devices));
  return fits && (object.pci_vendor == vendor_nvidia || object.pci_vendor == vendor_intel);
}

NodeKind kind_of(const hwloc::Object& object, const OsDevices& devices) {
  if (object.subtype == "NVSwitch" || (object.pci_vendor == vendor_nvidia && object.pci_class == class_bridge_other))
    return NodeKind::net_switch;
  if (is_gpu(object, devices)) return NodeKind::gpu;
  const bool network_class = object.pci_class >> 8 == class_network || object.pci_class == class_infiniband;
  if (network_class || any_device(devices, hwloc::network | hwloc::openfabrics)) return NodeKind::nic;
  return NodeKind::other;
}

// The name people use: the network interface before its verbs device, for others the first one.
std::string name_of(NodeKind kind, const OsDevices& devices) {
  for (const auto* device : devices)
    if (kind == NodeKind::nic && (device->device & hwloc::network) != 0) return device->name;
  for (const auto* device : devices)
    if (kind != NodeKind::nic || (device->device & hwloc::openfabrics) != 0) return device->name;
  return {};
}

void append(std::string& detail, const std::string& part) {
  if (part.empty() || detail.find(part) != std::string::npos) return;
  detail += (detail.empty() ? "" : ", ") + part;
}

std::string info(const hwloc::Object& object, const char* key) {
  const auto found = object.infos.find(key);
  return found == object.infos.end() ? std::string{} : found->second;
}

std::string class_words(const hwloc::Object& object) {
  constexpr std::array<const char*, 4> words{"", "storage", "network", "display"};
  const unsigned base = object.pci_class >> 8;
  return base < words.size() ? words[base] : "";
}

std::string detail_of(const hwloc::Object& object, NodeKind kind, const std::string& name, const OsDevices& devices) {
  std::string detail;
  for (const auto* device : devices) append(detail, info(*device, "GPUModel"));
  if (detail.empty()) append(detail, info(object, "PCIDevice"));
  if (detail.empty() && kind == NodeKind::other) append(detail, class_words(object));
  for (const auto* device : devices)
    if (device->name != name) append(detail, device->name);
  append(detail, object.pci_address);
  return detail;
}

}  // namespace

DeviceFacts classify_device(const hwloc::Object& object) {
  OsDevices devices;
  collect_os_devices(object, devices);
  DeviceFacts facts;
  facts.kind = kind_of(object, devices);
  facts.name = name_of(facts.kind, devices);
  // Processors of accelerators are numbered by the builder; the system's names ("nvml0") go to the detail.
  const bool numbered = facts.kind == NodeKind::gpu || facts.kind == NodeKind::net_switch;
  facts.detail = detail_of(object, facts.kind, numbered ? std::string{} : facts.name, devices);
  if (numbered) facts.name.clear();
  return facts;
}

}  // namespace rondo
