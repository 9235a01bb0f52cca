// Core figures ↔ JSON.
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "calibration/fields.hpp"
#include "rondo/calibration.hpp"

namespace rondo {
namespace {

constexpr int deepest = 2;
constexpr double largest = 1e9;

Error wrong(const std::string& what) { return Error{Errc::invalid_argument, what, 0, "calibration"}; }

}  // namespace

std::string write_core_figures(const CoreFigures& figures) {
  nlohmann::ordered_json json;
  for (const calibration::Field& field : calibration::fields) json[field.name] = figures.*field.value;
  json["source"] = figures.source;
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<CoreFigures> read_core_figures(std::string_view text) {
  Problem problem("calibration");
  const nlohmann::json json = parse_json(text, deepest, problem);
  if (problem.any()) return wrong(problem.error().detail);
  if (!json.is_object()) return wrong("expected an object of figures");
  CoreFigures figures;
  for (const calibration::Field& field : calibration::fields) {
    const auto found = json.find(field.name);
    const bool fits = found != json.end() && found->is_number() && found->get<double>() >= field.least && found->get<double>() <= largest;
    const char* least = field.least > 0 ? "1e-6" : "0";
    const char* missing = found == json.end() ? ", it is missing" : "";
    if (!fits) return wrong(std::string("\"") + field.name + "\": expected a number from " + least + " to 1e9" + missing);
    figures.*field.value = found->get<double>();
  }
  const auto source = json.find("source");
  if (source == json.end() || !source->is_string()) return wrong("\"source\": expected a text that says where the figures come from");
  figures.source = source->get<std::string>();
  if (json.size() != std::size(calibration::fields) + 1) return wrong("expected no other members than the figures and \"source\"");
  return figures;
}

}  // namespace rondo
