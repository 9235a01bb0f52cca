// Addresses on PCI as the kernel writes them.
#pragma once

#include <cstdio>
#include <string>

namespace rondo {

/// "0000:1b:00.0", of a device's first function.
inline std::string pci_address(unsigned domain, unsigned bus, unsigned device) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", domain, bus & 0xff, device & 0x1f);
  return text;
}

}  // namespace rondo
