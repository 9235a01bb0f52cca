#include "topology/machine.hpp"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text.hpp"

namespace rondo {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

Error hwloc_failed(const char* call) {
  return Error{Errc::unsupported, std::string("hwloc can't see this machine: ") + call + " failed", errno, {}};
}

Result<std::string> export_xml(hwloc_topology_t topology) {
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0) != 0)
    return hwloc_failed("hwloc_topology_export_xmlbuffer");
  std::string text(buffer, length > 0 ? static_cast<std::size_t>(length) : 0);
  hwloc_free_xmlbuffer(topology, buffer);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// Asking CUDA or OpenCL would initialise their run times in this process, after which it may not fork; NVML and
// the kernel's own files show the same devices without that.
void leave_out_run_times(hwloc_topology_t topology) {
  for (const char* component : {"cuda", "opencl", "gl"})
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
}

// hwloc's words for levels, as its documentation of synthetic topologies lists them.
constexpr std::array<std::string_view, 17> level_names{"node", "package", "socket",  "die",     "group",   "numanode",
                                                       "numa", "l5cache", "l4cache", "l3cache", "l2cache", "l1cache",
                                                       "l3",   "l2",      "l1",      "core",    "pu"};

// hwloc takes names cut short ("pack") and numbered ("group0", "l1d") as well.
bool is_level(std::string_view name) {
  return std::any_of(
             level_names.begin(), level_names.end(),
             [&](std::string_view level) { return level == name || (name.size() >= 4 && level.starts_with(name)); }) ||
         name.starts_with("group") || (name[0] == 'l' && name.size() > 1 && name[1] >= '1' && name[1] <= '5');
}

constexpr std::uint64_t most_synthetic_processors = 65536;

Error bad_synthetic(std::string_view description, const std::string& why) {
  return Error{Errc::invalid_argument, in_quotes(description) + " is not a synthetic machine: " + why +
                                           "; expected hwloc's form such as 'package:2 l3:2 core:4 pu:1'"};
}

// hwloc says only that a description is wrong; this finds the part that is, where it can.
Result<void> check_levels(std::string_view description) {
  std::istringstream words{std::string(description)};
  std::uint64_t processors = 1;
  bool any = false;
  for (std::string word; words >> word; any = true) {
    if (word[0] == '[' || word[0] == '(' || word.back() == ']' || word.back() == ')') continue;  // memory, attributes
    const std::size_t colon = word.find(':');
    const std::string count_text = word.substr(colon == std::string::npos ? 0 : colon + 1);
    std::string name = colon == std::string::npos ? "" : word.substr(0, colon);
    for (char& letter : name) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
    if (!name.empty() && !is_level(name)) return bad_synthetic(description, in_quotes(name) + " is no level");
    const auto count = parse_unsigned(count_text.substr(0, count_text.find('(')));
    if (!count || *count == 0) return bad_synthetic(description, in_quotes(word) + " doesn't end in a count from 1");
    if (*count > most_synthetic_processors || (processors *= *count) > most_synthetic_processors)
      return bad_synthetic(description,
                           std::string("it has more than ") + std::to_string(most_synthetic_processors) + " processors");
  }
  if (!any) return bad_synthetic(description, "it is empty");
  return {};
}

/// One thread at a time: hwloc loads plugins and libraries, libpciaccess among them, that share what they don't guard.
std::mutex in_hwloc;

}  // namespace

Result<std::string> hwloc_xml_of_this_machine() {
  const std::lock_guard lock(in_hwloc);
  static std::string known;
  if (!known.empty()) return known;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return hwloc_failed("hwloc_topology_init");
  const Handle topology{raw};
  // Forbidden processors stay in, so that objects have the same names in every container of the machine.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  leave_out_run_times(raw);
  if (hwloc_topology_load(raw) != 0) return hwloc_failed("hwloc_topology_load");
  auto xml = export_xml(raw);
  if (xml) known = *xml;
  return xml;
}

Result<std::string> hwloc_xml_of(std::string_view synthetic) {
  if (auto checked = check_levels(synthetic); !checked) return checked.error();
  const std::lock_guard lock(in_hwloc);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return hwloc_failed("hwloc_topology_init");
  const Handle topology{raw};
  const std::string text{synthetic};
  if (hwloc_topology_set_synthetic(raw, text.c_str()) != 0 || hwloc_topology_load(raw) != 0)
    return bad_synthetic(synthetic, "hwloc refuses this order of levels");
  return export_xml(raw);
}

}  // namespace rondo
