#include "topology/files.hpp"

#include <fstream>
#include <sstream>

namespace rondo {

std::string read_small_file(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text(1u << 20, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::string line_of(const std::filesystem::path& file, std::string_view key) {
  std::istringstream lines{read_small_file(file)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view rest(line);
    if (trimmed(rest.substr(0, colon)) == key) return std::string(trimmed(rest.substr(colon + 1)));
  }
  return "";
}

}  // namespace rondo
