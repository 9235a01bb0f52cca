// Plan files of any form, told by their content.
#include <cerrno>
#include <cstdio>
#include <memory>

#include "formats/limits.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

Result<std::string> read_file(const std::string& path) {
  const auto fail = [&](const std::string& what) { return Error{Errc::io, path + ": " + what, errno, "load_plan"}; };
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return fail("can't be opened");
  std::string text;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, got);
    if (text.size() > formats::max_file_bytes) {
      return Error{Errc::invalid_plan, path + ": larger than " + std::to_string(formats::max_file_bytes) + " bytes", 0,
                   "load_plan"};
    }
  }
  if (std::ferror(file.get())) return fail("can't be read");
  return text;
}

/// Whether a JSON text has the member `key` at its top level; takes any text.
bool has_top_level_key(std::string_view text, std::string_view key) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] == '}' || text[i] == ']') --depth;
    if (text[i] != '"') continue;
    const std::size_t begin = ++i;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    if (depth != 1 || i >= text.size() || text.substr(begin, i - begin) != key) continue;
    const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    if (next != std::string_view::npos && text[next] == ':') return true;
  }
  return false;
}

}  // namespace

Result<Plan> import_plan(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // a byte order mark
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char begin = first == std::string_view::npos ? '\0' : text[first];
  if (begin == '<') return import_msccl_xml(text);
  if (begin == '{') return has_top_level_key(text, "gpus") ? import_mscclpp_json(text) : read_plan(text);
  return Error{Errc::invalid_plan, "neither JSON nor XML; a plan is Rondo JSON, MSCCL XML or MSCCL++ JSON", 0, "import_plan"};
}

Result<Plan> load_plan(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<Plan> plan = import_plan(*text);
  if (!plan) plan.error().detail = path + ": " + plan.error().detail;
  return plan;
}

}  // namespace rondo
