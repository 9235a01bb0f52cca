// Plan files of any form, told by their content.
#include "base/file_text.hpp"
#include "formats/limits.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

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
  const auto fail = [&](Errc code, const std::string& what, int native) { return Error{code, path + ": " + what, native, "load_plan"}; };
  const FileText file = read_file_text(path, formats::max_file_bytes);
  if (file.error != 0) return fail(Errc::io, "can't be read", file.error);
  if (file.too_long) return fail(Errc::invalid_plan, "larger than " + std::to_string(formats::max_file_bytes) + " bytes", 0);
  Result<Plan> plan = import_plan(file.text);
  if (!plan) plan.error().detail = path + ": " + plan.error().detail;
  return plan;
}

}  // namespace rondo
