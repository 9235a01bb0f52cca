#include "base/file_text.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace rondo {

FileText read_file_text(const std::string& path, std::size_t most) {
  FileText read;
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) {
    read.error = errno != 0 ? errno : EIO;
    return read;
  }
  std::array<char, std::size_t{1} << 16> block;
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
    read.text.append(block.data(), got);
    if (read.text.size() <= most) continue;
    read.too_long = true;
    return read;
  }
  if (std::ferror(file.get()) != 0) read.error = errno != 0 ? errno : EIO;
  return read;
}

}  // namespace rondo
