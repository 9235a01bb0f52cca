// Core figures ↔ JSON.
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "calibration/fields.hpp"
#include "rondo/calibration.hpp"

namespace rondo {
namespace {

constexpr int deepest = 3;
constexpr double largest = 1e9;

Error wrong(const std::string& what) { return Error{Errc::invalid_argument, what, 0, "calibration"}; }

/// A number of `json` called `name`, in the object that `prefix` names if there is one. What is wrong is put in `problem`.
double number(const nlohmann::json& json, const std::string& prefix, const char* name, double least, Problem& problem) {
  const auto found = json.find(name);
  if (found != json.end() && found->is_number() && found->get<double>() >= least && found->get<double>() <= largest) return found->get<double>();
  const char* missing = found == json.end() ? ", it is missing" : "";
  if (!problem.any()) problem.report(prefix + "\"" + name + "\": expected a number from " + (least > 0 ? "1e-6" : "0") + " to 1e9" + missing);
  return 0;
}

LinkFigures read_link(const nlohmann::json& json, const calibration::Distance& distance, Problem& problem) {
  const auto found = json.find(distance.name);
  const std::string name = std::string("\"") + distance.name + "\"";
  LinkFigures link;
  if (found == json.end() || !found->is_object() || found->size() != std::size(calibration::link_fields)) {
    if (!problem.any()) problem.report(name + ": expected an object of " + std::to_string(std::size(calibration::link_fields)) + " figures");
    return link;
  }
  for (const calibration::LinkField& field : calibration::link_fields) link.*field.value = number(*found, name + ".", field.name, 0, problem);
  return link;
}

}  // namespace

std::string write_core_figures(const CoreFigures& figures) {
  nlohmann::ordered_json json;
  for (const calibration::Field& field : calibration::fields) json[field.name] = figures.*field.value;
  for (const calibration::Distance& distance : calibration::distances)
    for (const calibration::LinkField& field : calibration::link_fields) json[distance.name][field.name] = figures.*distance.figures.*field.value;
  json["source"] = figures.source;
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<CoreFigures> read_core_figures(std::string_view text) {
  Problem problem("calibration");
  const nlohmann::json json = parse_json(text, deepest, problem);
  if (problem.any()) return wrong(problem.error().detail);
  if (!json.is_object()) return wrong("expected an object of figures");
  CoreFigures figures;
  for (const calibration::Field& field : calibration::fields) figures.*field.value = number(json, "", field.name, field.least, problem);
  for (const calibration::Distance& distance : calibration::distances) figures.*distance.figures = read_link(json, distance, problem);
  if (problem.any()) return wrong(problem.error().detail);
  const auto source = json.find("source");
  if (source == json.end() || !source->is_string()) return wrong("\"source\": expected a text that says where the figures come from");
  figures.source = source->get<std::string>();
  if (json.size() != std::size(calibration::fields) + std::size(calibration::distances) + 1)
    return wrong("expected no other members than the figures and \"source\"");
  return figures;
}

}  // namespace rondo
