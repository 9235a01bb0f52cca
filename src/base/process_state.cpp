#include "base/process_state.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace rondo {
namespace {

std::string folder_of(std::int64_t process) { return "/proc/" + std::to_string(process); }

/// The letter of proc(5); 0 where nothing is known.
char state_in(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the name before it may have any characters
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '\0' : text[name_end + 2];
}

}  // namespace

std::string_view hindrance_of(std::int64_t process) {
  switch (state_in(folder_of(process))) {
    case 'T': return "stopped by a signal";
    case 't': return "stopped by a debugger";
    case 'Z':
    case 'X': return "dead";
    default: return "";
  }
}

bool stopped_behind_call(std::int64_t process, std::int64_t thread, long number) {
  const std::string folder = folder_of(process) + "/task/" + std::to_string(thread);
  std::ifstream file(folder + "/syscall");
  long found = -1;
  // In this order: whoever is in the call now and stopped later is through with it.
  return file >> found && found == number && state_in(folder) == 'T';
}

}  // namespace rondo
