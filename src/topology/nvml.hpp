// What NVIDIA's management library says of the GPUs of this machine. It is loaded where it is asked, and asking starts nothing of CUDA's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/result.hpp"

namespace rondo::nvml {

/// What is at the other end of NVLinks.
enum class Peer : std::uint8_t { gpu, processor, nvswitch };

/// All links of one GPU to one place.
struct Links {
  Peer peer = Peer::gpu;
  std::string address;     ///< on PCI; of a switch or a processor it may be nobody's that this machine shows
  std::int64_t count = 0;
};

struct Gpu {
  std::string address;  ///< on PCI, as the kernel writes it
  std::string model;
  std::int64_t sm = 0;  ///< compute capability times 10
  std::vector<Links> links;
};

/// Two GPUs of which one can't reach the other's memory, over PCI or NVLink.
struct Apart {
  std::size_t gpu = 0, other = 0;  ///< by their place in Facts::gpus
  std::string why;
};

struct Facts {
  std::vector<Gpu> gpus;
  std::vector<Apart> apart;
};

/// Of the first of these libraries that there is. Errors: unsupported, with what the loader or the library says.
Result<Facts> read(const std::vector<std::string>& libraries = {"libnvidia-ml.so.1", "libnvidia-ml.so"});

/// The same of this machine's, read once a process. Thread-safe.
const Result<Facts>& facts_of_this_machine();

}  // namespace rondo::nvml
