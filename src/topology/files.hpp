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

/// What follows "KEY:" in a file of such lines, e.g. /proc/meminfo; empty when the key isn't there.
std::string line_of(const std::filesystem::path& file, std::string_view key);

}  // namespace rondo
