#include "topology/hwloc_objects.hpp"

#include <algorithm>
#include <cmath>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pugixml.hpp>

#include "topology/hwloc_matrices.hpp"

namespace rondo::hwloc {
namespace {

constexpr int deepest_object = 128;  // real files reach about 30; a hostile one must not exhaust the stack

Error not_hwloc(const std::string& what) {
  return Error{Errc::invalid_argument,
               std::string("not an hwloc XML file: ") + what + "; expected what 'lstopo FILE.xml' writes"};
}

std::size_t line_of(std::string_view text, std::ptrdiff_t offset) {
  const auto end = text.begin() + std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

// hwloc 1 and 2 number the devices 0, 1, 2, ...; hwloc 3 gives each a bit.
unsigned device_bits(int version, unsigned value) {
  constexpr std::array<unsigned, 7> bits{storage, gpu, network, openfabrics, dma, coprocessor, memory};
  if (version >= 3) return value;
  return value < bits.size() ? bits[value] : 0;
}

// hwloc 1 names caches by their depth and packages "Socket".
std::string modern_type(const pugi::xml_node& element) {
  const std::string type = element.attribute("type").as_string();
  if (type == "Socket") return "Package";
  if (type == "System") return "Machine";
  if (type == "Cache") return std::string("L") + std::string(element.attribute("depth").as_string("1")) + "Cache";
  return type;
}

void read_cache(const pugi::xml_node& element, Object& object) {
  const std::string& type = object.type;
  if (type.size() < 7 || type[0] != 'L' || type.find("Cache") != 2) return;
  object.cache_level = static_cast<unsigned>(type[1] - '0');
  object.instructions = type.ends_with("iCache") || element.attribute("cache_type").as_int() == 2;
}

void read_pci(const pugi::xml_node& element, Object& object) {
  object.pci_address = element.attribute("pci_busid").as_string();
  unsigned device = 0;
  // "0302 [10de:1db8] ...": class, vendor, device; what follows differs between versions.
  if (std::sscanf(element.attribute("pci_type").as_string(), "%4x [%4x:%4x]", &object.pci_class, &object.pci_vendor,
                  &device) < 2)
    object.pci_class = object.pci_vendor = 0;
  object.pci_bytes_per_s = std::clamp(element.attribute("pci_link_speed").as_double(), 0.0, 1e6) * 1e9;
}

void read_attributes(const pugi::xml_node& element, int version, Object& object) {
  object.type = modern_type(element);
  object.os_index = element.attribute("os_index").as_llong(-1);
  object.gp_index = element.attribute("gp_index").as_ullong();
  object.name = element.attribute("name").as_string();
  object.subtype = element.attribute("subtype").as_string();
  object.cpuset = element.attribute("cpuset").as_string();
  object.bytes = std::max(element.attribute("cache_size").as_ullong(), element.attribute("local_memory").as_ullong());
  object.host_bridge = std::strncmp(element.attribute("bridge_type").as_string(), "0-", 2) == 0;
  if (const auto device = element.attribute("osdev_type")) object.device = device_bits(version, device.as_uint());
  read_cache(element, object);
  read_pci(element, object);
}

Result<Object> read_object(const pugi::xml_node& element, int version, int depth) {
  if (depth > deepest_object)
    return not_hwloc(std::string("its objects are nested more than ") + std::to_string(deepest_object) + " deep");
  Object object;
  read_attributes(element, version, object);
  if (object.type.empty()) return not_hwloc("an <object> has no type");
  for (const pugi::xml_node& child : element.children()) {
    if (std::strcmp(child.name(), "info") == 0)
      object.infos[child.attribute("name").as_string()] = child.attribute("value").as_string();
    if (std::strcmp(child.name(), "object") != 0) continue;
    auto inner = read_object(child, version, depth + 1);
    if (!inner) return inner.error();
    object.children.push_back(std::move(*inner));
  }
  return object;
}

bool has_processor(const Object& object) {
  if (object.type == "PU") return true;
  return std::any_of(object.children.begin(), object.children.end(), has_processor);
}

Result<std::vector<std::uint32_t>> read_allowed(const pugi::xml_node& machine) {
  const auto attribute = machine.attribute("allowed_cpuset");
  if (!attribute) return std::vector<std::uint32_t>{};
  auto allowed = parse_cpuset(attribute.as_string(), 1u << 20);
  if (!allowed)
    return not_hwloc(std::string("its allowed_cpuset is '") + std::string(attribute.as_string()).substr(0, 40) + "'");
  return allowed;
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_cpuset(std::string_view text, std::uint32_t limit) {
  const Error wrong{Errc::invalid_argument, std::string("not a cpuset: '") + std::string(text.substr(0, 40)) + "'"};
  const bool endless = text.starts_with("0xf...f");
  if (endless) text.remove_prefix(text.size() > 7 && text[7] == ',' ? 8 : 7);
  std::vector<std::uint32_t> words;  // the last 32 bits come last in the text
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string word{text.substr(0, comma)};
    char* end = nullptr;
    words.push_back(static_cast<std::uint32_t>(std::strtoul(word.c_str(), &end, 16)));
    if (*end != '\0' || word.size() > 10) return wrong;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::reverse(words.begin(), words.end());
  std::vector<std::uint32_t> cpus;
  const std::uint64_t bits = std::min<std::uint64_t>(limit, words.size() * 32);
  for (std::uint32_t bit = 0; bit < bits; ++bit)
    if ((words[bit / 32] >> (bit % 32) & 1u) != 0) cpus.push_back(bit);
  for (auto bit = static_cast<std::uint32_t>(bits); endless && bit < limit; ++bit) cpus.push_back(bit);
  return cpus;
}

Result<File> parse(std::string_view text) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size());
  if (!parsed)
    return not_hwloc(std::string("line ") + std::to_string(line_of(text, parsed.offset)) + ": " + parsed.description());
  const pugi::xml_node root = document.document_element();
  if (std::strcmp(root.name(), "topology") != 0)
    return not_hwloc(std::string("its root is <") + std::string(root.name()) + ">, not <topology>");
  const int version = static_cast<int>(std::fmin(std::fmax(1, root.attribute("version").as_double(1)), 99));
  const pugi::xml_node machine = root.child("object");
  if (!machine) return not_hwloc("<topology> holds no <object>");
  auto object = read_object(machine, version, 0);
  if (!object) return object.error();
  if (object->type != "Machine")
    return not_hwloc(std::string("its outermost object is a ") + object->type + ", not a Machine");
  if (!has_processor(*object)) return not_hwloc("it holds no processor (an object of type PU)");
  File file;
  file.machine = std::move(*object);
  // hwloc 3 keeps facts about the whole machine, such as its HostName, beside the object.
  for (const pugi::xml_node& info : root.children("info"))
    file.machine.infos.emplace(info.attribute("name").as_string(), info.attribute("value").as_string());
  auto allowed = read_allowed(machine);
  if (!allowed) return allowed.error();
  file.allowed = std::move(*allowed);
  file.matrices = read_matrices(root);
  file.memory_figures = read_memory_figures(root);
  return file;
}

}  // namespace rondo::hwloc
