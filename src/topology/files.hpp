// Reading files of /proc and /sys, which may be absent.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rondo {

/// The first MiB of a file; empty when it can't be read.
std::string read_small_file(const std::filesystem::path& path);

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace rondo
