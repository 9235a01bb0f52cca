#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/file_text.hpp"
#include "base/text.hpp"
#include "rondo/topology.hpp"
#include "topology/build.hpp"
#include "topology/fabrics.hpp"
#include "topology/hwloc_objects.hpp"
#include "topology/identity.hpp"
#include "topology/interfaces.hpp"
#include "topology/machine.hpp"
#include "topology/quota.hpp"

namespace rondo {
namespace {

// In a container without devices, hwloc shows no interface.
void add_interfaces(hwloc::Object& machine, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    hwloc::Object interface;
    interface.type = "OSDev";
    interface.name = name;
    interface.device = hwloc::network;
    machine.children.push_back(std::move(interface));
  }
}

bool has_network(const hwloc::Object& object) {
  if ((object.device & (hwloc::network | hwloc::openfabrics)) != 0) return true;
  for (const hwloc::Object& child : object.children)
    if (has_network(child)) return true;
  return false;
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".xml") || text.ends_with(".json");
}

Error unusable(const std::string& given, const std::string& why, int native) {
  return Error{Errc::io,
               in_quotes(given) + " " + why +
                   "; expected an XML file of hwloc's or of NCCL's, a topology written by 'rondo topo --format json', or a synthetic "
                   "string such as 'package:2 l3:2 core:4 pu:1' or 'dgx-h100*4'",
               native,
               {}};
}

constexpr std::size_t max_file_bytes = std::size_t{64} << 20;

Result<std::string> read_file(const std::string& path) {
  FileText file = read_file_text(path, max_file_bytes);
  if (file.error != 0) return unusable(path, "can't be read", file.error);
  if (file.too_long) return unusable(path, "has more than " + std::to_string(max_file_bytes) + " bytes", 0);
  if (file.text.empty()) return unusable(path, "is empty", 0);
  return std::move(file.text);
}

/// The name of an XML document's root: what its first tag has that is no declaration and no comment.
std::string_view root_element(std::string_view text) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (text.substr(at, 4) == "<!--") {
      at = text.find("-->", at + 4);
      if (at == std::string_view::npos) return {};
    } else if (at + 1 < text.size() && text[at + 1] != '?' && text[at + 1] != '!') {
      const std::string_view rest = text.substr(at + 1);
      return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
    }
  }
  return {};
}

Result<Topology> read_any(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return read_topology_json(text);
  return root_element(text) == "system" ? read_nccl_xml(text) : read_hwloc_xml(text);
}

}  // namespace

Result<Topology> discover_topology() {
  const auto xml = hwloc_xml_of_this_machine();
  if (!xml) return xml.error();
  auto file = hwloc::parse(*xml);
  if (!file) return file.error();
  file->machine.infos["HostName"] = host_name();
  if (!has_network(file->machine)) add_interfaces(file->machine, active_interfaces());
  auto identity = host_identity();
  if (!identity) return identity.error();
  Topology topology = build_topology(*file, *identity, network_speeds());
  topology.cpu_quota = read_cpu_quota();
  return topology;
}

Result<Topology> read_hwloc_xml(std::string_view text) {
  const auto file = hwloc::parse(text);
  if (!file) return file.error();
  return build_topology(*file, identity_of("hwloc", text));
}

Result<Topology> read_synthetic(std::string_view description) {
  const auto xml = hwloc_xml_of(description);
  if (!xml) return xml.error();
  auto file = hwloc::parse(*xml);
  if (!file) return file.error();
  file->machine.infos["HostName"] = "synthetic machine";
  return build_topology(*file, identity_of("synthetic", description));
}

Result<Topology> load_topology(const std::string& file_or_spec) {
  struct stat status {};
  if (stat(file_or_spec.c_str(), &status) != 0) {
    const int missing = errno;
    if (looks_like_path(file_or_spec)) return unusable(file_or_spec, "can't be opened", missing);
    if (auto fabric = make_fabric(file_or_spec)) return std::move(*fabric);
    auto machine = read_synthetic(file_or_spec);
    if (!machine) machine.error().detail += "; or a fabric: " + fabric_forms();
    return machine;
  }
  if (S_ISDIR(status.st_mode)) return unusable(file_or_spec, "is a folder", 0);
  const auto text = read_file(file_or_spec);
  if (!text) return text.error();
  auto topology = read_any(*text);
  if (!topology) topology.error().detail = in_quotes(file_or_spec) + ": " + topology.error().detail;
  return topology;
}

}  // namespace rondo
