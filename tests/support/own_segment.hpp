// This process's shared segment, for tests that write into it what nobody should.
#pragma once

#include <filesystem>
#include <string>

/// Its descriptor: of the segments that this process maps it has no other's. -1: it has none.
inline int own_segment() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone).string().find("memfd:rondo") != std::string::npos) return std::stoi(entry.path().filename());
  }
  return -1;
}
