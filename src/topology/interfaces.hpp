// Network interfaces as the kernel lists them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rondo {

/// Speeds in bytes/s of the interfaces that tell one, by name.
std::map<std::string, double> network_speeds(const std::filesystem::path& folder = "/sys/class/net");

/// Interfaces that are up, without the loopback: what a container has instead of a device.
std::vector<std::string> active_interfaces(const std::filesystem::path& folder = "/sys/class/net");

}  // namespace rondo
