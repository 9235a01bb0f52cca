// What links between accelerators, processors and networks carry where a file gives their number but not their speed.
#pragma once

#include <cstdint>
#include <string_view>

#include "rondo/topology.hpp"

namespace rondo {

/// One NVLink in one direction, by the compute capability (times 10) of the GPU.
Figure nvlink_bandwidth(std::int64_t sm);

/// One xGMI link in one direction, by the gcn number of the GPU as RCCL writes it (910: gfx90a, 940: gfx940).
Figure xgmi_bandwidth(std::int64_t gcn);

/// Between two processors of a machine, by the arch, vendor, familyid and modelid that NCCL writes.
Figure processor_link_bandwidth(std::string_view arch, std::string_view vendor, std::int64_t family, std::int64_t model);

/// A network interface whose file doesn't tell its speed.
Figure fast_network_bandwidth();

/// A PCI link, by the kernel's words for its speed ("16.0 GT/s PCIe") and its lanes; value 0: unknown words.
Figure pci_bandwidth(std::string_view speed, std::int64_t lanes);

}  // namespace rondo
