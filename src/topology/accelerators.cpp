// The figures of links are those that NCCL (src/graph/topo.h, 2.28) and RCCL (the same file) plan with: what a stream of large messages gets, not the
// nominal rate. Those of PCI are the nominal rate after its coding.
#include "topology/accelerators.hpp"

#include <array>
#include <charconv>
#include <string>

#include "topology/costs.hpp"

namespace rondo {
namespace {

constexpr double giga = 1e9;

/// A figure from its first value on, ascending.
struct From {
  std::int64_t first;
  double gigabytes_per_s;
};

template <std::size_t Count>
double last_from(const std::array<From, Count>& table, std::int64_t value) {
  double found = table.front().gigabytes_per_s;
  for (const From& row : table)
    if (value >= row.first) found = row.gigabytes_per_s;
  return found * giga;
}

constexpr std::int64_t skylake = 0x55, sapphire_rapids = 0x8F, emerald_rapids = 0xCF;

double intel_link(std::int64_t family, std::int64_t model) {
  if (family != 6) return 6;
  if (model >= emerald_rapids) return 40;
  if (model >= sapphire_rapids) return 22;
  return model >= skylake ? 10 : 6;
}

}  // namespace

Figure nvlink_bandwidth(std::int64_t sm) {
  constexpr std::array table{From{60, 18}, From{70, 20}, From{80, 20}, From{86, 12}, From{87, 20}, From{90, 20.6}, From{100, 40.1}};
  return assumed(last_from(table, sm), "an NVLink of sm " + std::to_string(sm) + " as NCCL counts it");
}

Figure xgmi_bandwidth(std::int64_t gcn) {
  constexpr std::array table{From{0, 24}, From{910, 36}, From{940, 48}};
  return assumed(last_from(table, gcn), "an xGMI link of gcn " + std::to_string(gcn) + " as RCCL counts it");
}

Figure processor_link_bandwidth(std::string_view arch, std::string_view vendor, std::int64_t family, std::int64_t model) {
  double gigabytes = 6;
  if (arch == "ppc64") gigabytes = 32;
  if (vendor == "AuthenticAMD") gigabytes = 16;
  if (vendor == "GenuineIntel") gigabytes = intel_link(family, model);
  const std::string whose = vendor.empty() ? "unknown vendor" : std::string(vendor);
  return assumed(gigabytes * giga, "between processors of " + whose + " as NCCL counts it");
}

Figure fast_network_bandwidth() { return assumed(12 * giga, "a network interface of unknown speed as NCCL counts it"); }

Figure pci_bandwidth(std::string_view speed, std::int64_t lanes) {
  double transfers = 0;  // giga a second and lane
  std::from_chars(speed.data(), speed.data() + speed.size(), transfers);
  if (!(transfers > 0 && transfers <= 1024) || lanes <= 0) return {};
  const double coding = transfers <= 5 ? 8.0 / 10 : transfers <= 32 ? 128.0 / 130 : 242.0 / 256;
  return {transfers * giga * coding / 8 * static_cast<double>(lanes), Provenance::read, "link_speed and link_width"};
}

}  // namespace rondo
