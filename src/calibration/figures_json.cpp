// Core figures ↔ JSON.
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "calibration/fields.hpp"
#include "rondo/calibration.hpp"

namespace rondo {
namespace {

constexpr int deepest = 3;
constexpr std::size_t most_links = 16;
constexpr double largest = 1e9;

Error wrong(const std::string& what) { return Error{Errc::invalid_argument, what, 0, "calibration"}; }

/// A number of `json` called `name`, in the object that `prefix` names if there is one. What is wrong is put in `problem`.
double number(const nlohmann::json& json, const std::string& prefix, const char* name, double least, Problem& problem) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (found != json.end() && found->is_number() && found->get<double>() >= least && found->get<double>() <= largest) return found->get<double>();
  const char* missing = found == json.end() ? ", it is missing" : "";
  if (!problem.any()) problem.report(prefix + "\"" + name + "\": expected a number from " + (least > 0 ? "1e-6" : "0") + " to 1e9" + missing);
  return 0;
}

/// Nearer ones first.
std::vector<LinkFigures> read_links(const nlohmann::json& json, Problem& problem) {
  std::vector<LinkFigures> links;
  const auto found = json.find("links");
  const bool fits = found != json.end() && found->is_array() && found->size() <= most_links;
  if (!fits && !problem.any()) problem.report("\"links\": expected a list of up to " + std::to_string(most_links) + " distances");
  if (!fits) return links;
  for (const nlohmann::json& one : *found) {
    const std::string prefix = "\"links\"[" + std::to_string(links.size()) + "].";
    LinkFigures link;
    std::size_t members = 0;
    for (const calibration::LinkField& field : calibration::link_fields) {
      if (field.may_miss && one.is_object() && !one.contains(field.name)) continue;
      link.*field.value = number(one, prefix, field.name, field.least, problem);
      ++members;
    }
    if (!problem.any() && one.size() != members) problem.report(prefix + ": expected no other members than the figures");
    if (!problem.any() && !links.empty() && link.latency_ns <= links.back().latency_ns) problem.report(prefix + "\"latency_ns\": expected nearer ones first");
    links.push_back(link);
  }
  return links;
}

}  // namespace

std::string write_core_figures(const CoreFigures& figures) {
  nlohmann::ordered_json json;
  for (const calibration::Field& field : calibration::fields) json[field.name] = figures.*field.value;
  json["links"] = nlohmann::ordered_json::array();
  for (const LinkFigures& link : figures.links) {
    nlohmann::ordered_json& one = json["links"].emplace_back();
    for (const calibration::LinkField& field : calibration::link_fields) one[field.name] = link.*field.value;
  }
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
  figures.links = read_links(json, problem);
  if (problem.any()) return wrong(problem.error().detail);
  const auto source = json.find("source");
  if (source == json.end() || !source->is_string()) return wrong("\"source\": expected a text that says where the figures come from");
  figures.source = source->get<std::string>();
  if (json.size() != std::size(calibration::fields) + 2)
    return wrong("expected no other members than the figures, \"links\" and \"source\"");
  return figures;
}

}  // namespace rondo
