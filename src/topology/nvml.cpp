// The interface is that of NVML's reference (docs.nvidia.com/deploy/nvml-api): its header doesn't come with the driver.
#include "topology/nvml.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/pci_address.hpp"
#include "base/shared_library.hpp"

namespace rondo::nvml {
namespace {

using Status = int;  ///< nvmlReturn_t
using Device = void*;
constexpr Status success = 0;
constexpr unsigned most_links = 18;  ///< NVML_NVLINK_MAX_LINKS
constexpr unsigned most_gpus = 64;   ///< whose pairs are looked at; no machine has more

/// nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  char short_address[16];
  unsigned domain, bus, device, ids, subsystem_ids;
  char address[32];
};

/// nvmlIntNvLinkDeviceType_t
enum RemoteType : unsigned { remote_gpu = 0, remote_processor = 1, remote_switch = 2 };

/// nvmlGpuP2PCapsIndex_t, and the words for nvmlGpuP2PStatus_t.
constexpr unsigned peers_read = 0;
constexpr std::array<std::string_view, 7> peer_states{
    "", "the chipset doesn't allow it", "a GPU doesn't support it", "they are below different bridges of the processor", "a registry key disables it",
    "it isn't supported", "the driver doesn't know"};

struct Functions {
  Status (*init)(unsigned flags) = nullptr;
  Status (*shutdown)() = nullptr;
  const char* (*words)(Status) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*by_index)(unsigned, Device*) = nullptr;
  Status (*pci)(Device, PciInfo*) = nullptr;
  Status (*name)(Device, char*, unsigned length) = nullptr;
  Status (*capability)(Device, int* major, int* minor) = nullptr;
  Status (*link_state)(Device, unsigned link, unsigned* active) = nullptr;
  Status (*link_pci)(Device, unsigned link, PciInfo*) = nullptr;
  Status (*link_type)(Device, unsigned link, unsigned* type) = nullptr;  ///< null in drivers before 450
  Status (*peer_state)(Device, Device, unsigned capability, unsigned* state) = nullptr;
};

Result<Functions> functions_of(SharedLibrary& library) {
  Functions found;
  library.find("nvmlInitWithFlags", found.init);
  library.find("nvmlShutdown", found.shutdown);
  library.find("nvmlErrorString", found.words);
  library.find("nvmlDeviceGetCount_v2", found.count);
  library.find("nvmlDeviceGetHandleByIndex_v2", found.by_index);
  library.find("nvmlDeviceGetPciInfo_v3", found.pci);
  library.find("nvmlDeviceGetName", found.name);
  library.find("nvmlDeviceGetCudaComputeCapability", found.capability);
  library.find("nvmlDeviceGetNvLinkState", found.link_state);
  library.find("nvmlDeviceGetNvLinkRemotePciInfo_v2", found.link_pci);
  library.find("nvmlDeviceGetP2PStatus", found.peer_state);
  if (!library.missing().empty()) return Error{Errc::unsupported, library.path() + " is too old: it lacks " + library.missing(), 0, "NVML"};
  library.find("nvmlDeviceGetNvLinkRemoteDeviceType", found.link_type);
  return found;
}

std::string text_of(const PciInfo& info) { return pci_address(info.domain, info.bus, info.device); }

/// Without the library's word for it, NVIDIA's bridges are switches.
Peer peer_at(const Functions& nvml, Device device, unsigned link, const std::vector<Gpu>& gpus, const std::string& address) {
  unsigned type = 0;
  if (nvml.link_type != nullptr && nvml.link_type(device, link, &type) == success) {
    if (type == remote_switch) return Peer::nvswitch;
    if (type == remote_processor) return Peer::processor;
    if (type == remote_gpu) return Peer::gpu;
  }
  const bool known = std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.address == address; });
  return known ? Peer::gpu : Peer::nvswitch;
}

std::vector<Links> links_of(const Functions& nvml, Device device, const std::vector<Gpu>& gpus) {
  std::vector<Links> links;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned active = 0;
    PciInfo remote{};
    if (nvml.link_state(device, link, &active) != success || active == 0 || nvml.link_pci(device, link, &remote) != success) continue;
    const std::string address = text_of(remote);
    const Peer peer = peer_at(nvml, device, link, gpus, address);
    const auto same = std::find_if(links.begin(), links.end(), [&](const Links& other) { return other.peer == peer && other.address == address; });
    if (same != links.end()) ++same->count;
    else links.push_back({peer, address, 1});
  }
  return links;
}

std::vector<Apart> find_apart(const Functions& nvml, const std::vector<Device>& devices) {
  std::vector<Apart> apart;
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      unsigned state = 0;
      if (nvml.peer_state(devices[a], devices[b], peers_read, &state) != success || state == 0) continue;
      apart.push_back({a, b, std::string(peer_states[std::min<std::size_t>(state, peer_states.size() - 1)])});
    }
  return apart;
}

/// A GPU that can't be asked, since it has fallen off its bus or isn't this container's, is left out.
Facts ask(const Functions& nvml) {
  Facts facts;
  std::vector<Device> devices;
  unsigned count = 0;
  if (nvml.count(&count) != success) return facts;
  for (unsigned index = 0; index < std::min(count, most_gpus); ++index) {
    Device device = nullptr;
    PciInfo pci{};
    char name[96] = {};
    int major = 0, minor = 0;
    if (nvml.by_index(index, &device) != success || nvml.pci(device, &pci) != success) continue;
    (void)nvml.name(device, name, sizeof name);
    (void)nvml.capability(device, &major, &minor);
    facts.gpus.push_back({text_of(pci), name, std::int64_t{major} * 10 + minor, {}});
    devices.push_back(device);
  }
  for (std::size_t k = 0; k < devices.size(); ++k) facts.gpus[k].links = links_of(nvml, devices[k], facts.gpus);
  facts.apart = find_apart(nvml, devices);
  return facts;
}

}  // namespace

Result<Facts> read(const std::vector<std::string>& libraries) {
  auto library = SharedLibrary::load(libraries);
  if (!library) return library.error();
  const auto nvml = functions_of(*library);
  if (!nvml) return nvml.error();
  if (const Status status = nvml->init(0); status != success)
    return Error{Errc::unsupported, library->path() + " can't start: " + nvml->words(status), status, "NVML"};
  Facts facts = ask(*nvml);
  (void)nvml->shutdown();
  return facts;
}

const Result<Facts>& facts_of_this_machine() {
  static const Result<Facts> known = read();
  return known;
}

}  // namespace rondo::nvml
