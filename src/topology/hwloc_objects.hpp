// hwloc's XML as plain objects: versions 1, 2 and 3 of its format in one shape. Knows nothing of Rondo's topology.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/result.hpp"

namespace rondo::hwloc {

/// Bits of an operating-system device, as hwloc 3 numbers them; older files are translated.
enum Device : unsigned { storage = 1, memory = 2, gpu = 4, coprocessor = 8, network = 16, openfabrics = 32, dma = 64 };

struct Object {
  std::string type;  ///< hwloc 2's name: "Machine", "Package", "NUMANode", "L3Cache", "Core", "PU", "PCIDev", ...
  std::int64_t os_index = -1;
  std::uint64_t gp_index = 0;  ///< hwloc's identity of an object within its file; 0 where it has none
  std::string name;
  std::string subtype;
  std::string cpuset;         ///< hwloc's text form
  std::uint64_t bytes = 0;    ///< of a cache or a memory
  unsigned cache_level = 0;   ///< 0: not a cache
  bool instructions = false;  ///< an instruction cache
  bool host_bridge = false;
  std::string pci_address;
  unsigned pci_class = 0;
  unsigned pci_vendor = 0;
  double pci_bytes_per_s = 0;  ///< 0: hwloc doesn't know
  unsigned device = 0;         ///< Device bits
  std::map<std::string, std::string> infos;
  std::vector<Object> children;
};

/// A matrix of figures between objects. Elements are named by type and index.
struct Matrix {
  struct Element {
    std::string type;
    std::uint64_t index = 0;
    bool by_os_index = false;  ///< else by gp_index
  };
  std::string name;        ///< e.g. "NVLinkBandwidth"; old files leave it empty
  bool bandwidth = false;  ///< MB/s; else latency, relative to its diagonal
  std::vector<Element> elements;
  std::vector<double> values;  ///< row by row
};

/// A figure of one memory node as the firmware states it (HMAT).
struct MemoryFigure {
  std::uint64_t gp_index = 0;
  bool bandwidth = false;  ///< MiB/s; else latency in ns
  double value = 0;
};

struct File {
  Object machine;
  std::vector<std::uint32_t> allowed;  ///< processors that may be used, ascending; empty: all
  std::vector<Matrix> matrices;
  std::vector<MemoryFigure> memory_figures;
};

/// Reads any hwloc XML. Errors (invalid_argument) say at which line it stops being one and what was expected.
Result<File> parse(std::string_view text);

/// The processors of a cpuset in hwloc's text form ("0x00000303,,0x3"), below `limit`; nothing if it isn't one.
Result<std::vector<std::uint32_t>> parse_cpuset(std::string_view text, std::uint32_t limit);

}  // namespace rondo::hwloc
