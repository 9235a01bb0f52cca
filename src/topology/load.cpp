#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "rondo/topology.hpp"
#include "topology/build.hpp"
#include "topology/hwloc_objects.hpp"
#include "topology/interfaces.hpp"
#include "topology/machine.hpp"
#include "topology/quota.hpp"

namespace rondo {
namespace {

// Equal texts get equal identities, so that two readings of one file are one host.
std::string identity_of(std::string_view form, std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  std::ostringstream identity;
  identity << form << '-' << std::hex << hash;
  return identity.str();
}

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
                   "; expected an hwloc XML file, a topology written by 'rondo topo --format json', or a synthetic "
                   "string such as 'package:2 l3:2 core:4 pu:1'",
               native,
               {}};
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  errno = 0;
  if (!file || !(text << file.rdbuf())) return unusable(path, errno != 0 ? "can't be read" : "is empty", errno);
  return text.str();
}

Result<Topology> read_any(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  return json ? read_topology_json(text) : read_hwloc_xml(text);
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
    return read_synthetic(file_or_spec);
  }
  if (S_ISDIR(status.st_mode)) return unusable(file_or_spec, "is a folder", 0);
  const auto text = read_file(file_or_spec);
  if (!text) return text.error();
  auto topology = read_any(*text);
  if (!topology) topology.error().detail = in_quotes(file_or_spec) + ": " + topology.error().detail;
  return topology;
}

}  // namespace rondo
