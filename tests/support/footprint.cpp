#include "support/footprint.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/sanitized.hpp"

namespace {

constexpr std::uint64_t more_maps = 8;  // of stacks and of the allocator, which makes them as threads happen to meet

std::string pair(std::uint64_t before, std::uint64_t after) { return std::to_string(before) + " -> " + std::to_string(after); }

}  // namespace

Footprint footprint() {
  Footprint now;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) now.descriptors += entry.is_symlink() ? 1 : 0;
  std::ifstream maps("/proc/self/maps"), sizes("/proc/self/statm");
  for (std::string line; std::getline(maps, line); ++now.maps)
    now.shared_maps += line.find("rw-s ") != std::string::npos || line.find("r--s ") != std::string::npos ? 1 : 0;
  std::uint64_t all_pages = 0, pages = 0;
  sizes >> all_pages >> pages;
  now.resident_bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return now;
}

std::uint64_t names_with(const std::string& word) {
  std::uint64_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names += entry.path().string().find(word) != std::string::npos ? 1 : 0;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) names += line.find(word) != std::string::npos ? 1 : 0;
  return names;
}

std::string describe_change(const Footprint& before, const Footprint& after) {
  return "descriptors " + pair(before.descriptors, after.descriptors) + ", shared maps " + pair(before.shared_maps, after.shared_maps) + ", all maps " +
         pair(before.maps, after.maps) + ", resident KiB " + pair(before.resident_bytes >> 10, after.resident_bytes >> 10);
}

std::string growth(const Footprint& before, const Footprint& after, std::uint64_t slack_bytes) {
  const bool same = after.descriptors == before.descriptors && after.shared_maps == before.shared_maps;
  const bool about_the_same = after.maps <= before.maps + more_maps && after.resident_bytes <= before.resident_bytes + slack_bytes;
  return same && (sanitized || about_the_same) ? "" : describe_change(before, after);
}
