// MSCCL++ JSON → Plan.
#include "base/json_text.hpp"
#include "formats/canonicalise.hpp"
#include "formats/mscclpp.hpp"
#include "formats/tidy.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

constexpr int deepest = 16;  // levels of nesting; plans need 8, and a file of brackets would take fifty times its size

}  // namespace

Result<Plan> import_mscclpp_json(std::string_view text) {
  Problem problem("import_mscclpp_json");
  if (text.size() > formats::max_file_bytes) {
    problem.report("the text has more than " + std::to_string(formats::max_file_bytes) + " bytes");
    return problem.error();
  }
  const nlohmann::json json = parse_json(text, deepest, problem);
  if (problem.any()) return problem.error();
  const JsonNode root(json, problem, "");
  formats::MscclppFile file = formats::read_mscclpp(root);
  if (problem.any()) return problem.error();
  const formats::MscclppLanes lanes = formats::read_mscclpp_operations(root, file);
  if (problem.any()) return problem.error();
  std::vector<Program> programs = formats::bind_mscclpp_waits(file, lanes, problem);
  if (problem.any()) return problem.error();
  formats::tidy(programs, !formats::touches_peers(programs));
  Plan plan = formats::canonicalise(file.header, std::move(programs), false, problem);
  if (problem.any()) return problem.error();
  return plan;
}

}  // namespace rondo
