// MSCCL++ JSON → Plan.
#include <algorithm>

#include "formats/canonicalise.hpp"
#include "formats/mscclpp.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

constexpr int deepest = 16;  // levels of nesting; plans need 8, and a file of brackets would take fifty times its size

/// Levels of nesting in a JSON text. Looked at before parsing: the parser's own callback costs quadratic time.
int nesting(std::string_view text) {
  int depth = 0;
  int most = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
    } else if (text[i] == '{' || text[i] == '[') {
      most = std::max(most, ++depth);
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return most;
}

nlohmann::json parse(std::string_view text, formats::Problem& problem) {
  if (nesting(text) > deepest) {
    problem.report("nested more than " + std::to_string(deepest) + " levels deep");
    return {};
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    problem.report(std::string("not well-formed JSON: ") + error.what());
    return {};
  }
}

}  // namespace

Result<Plan> import_mscclpp_json(std::string_view text) {
  formats::Problem problem("import_mscclpp_json");
  if (text.size() > formats::max_file_bytes) {
    problem.report("the text has more than " + std::to_string(formats::max_file_bytes) + " bytes");
    return problem.error();
  }
  const nlohmann::json json = parse(text, problem);
  if (problem.any()) return problem.error();
  const formats::JsonNode root(json, problem);
  formats::MscclppFile file = formats::read_mscclpp(root);
  if (problem.any()) return problem.error();
  const formats::MscclppLanes lanes = formats::read_mscclpp_operations(root, file);
  if (problem.any()) return problem.error();
  std::vector<Program> programs = formats::bind_mscclpp_waits(file, lanes, problem);
  if (problem.any()) return problem.error();
  Plan plan = formats::canonicalise(file.header, std::move(programs), false, problem);
  if (problem.any()) return problem.error();
  return plan;
}

}  // namespace rondo
