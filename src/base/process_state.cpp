#include "base/process_state.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace rondo {

std::string_view hindrance_of(std::int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // proc(5): the name before it may have any characters
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return "";
  switch (text[name_end + 2]) {
    case 'T': return "stopped by a signal";
    case 't': return "stopped by a debugger";
    case 'Z':
    case 'X': return "dead";
    default: return "";
  }
}

}  // namespace rondo
