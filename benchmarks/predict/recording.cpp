#include "recording.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rondo/calibration.hpp"
#include "rondo/planning.hpp"
#include "support/median.hpp"

namespace predict {
namespace {

using Json = nlohmann::ordered_json;
using rondo::Errc;
using rondo::Error;
using rondo::Result;

Json to_json(const Line& line) {
  return {{"state", to_string(line.state)}, {"op", rondo::to_string(line.what.collective)}, {"bytes", line.what.bytes}, {"algorithm", line.algorithm},
          {"rounds_chosen", line.chosen}, {"predicted_ns", line.predicted_ns}, {"measured_ns", line.measured_ns}, {"floor_ns", line.floor_ns}};
}

Json head_of(const Recording& recording) {
  return {{"machine", recording.machine},
          {"ranks", recording.settings.ranks},
          {"in_place", recording.settings.in_place},
          {"touched", recording.settings.touched},
          {"symmetric", recording.settings.symmetric},
          {"core_figures", Json::parse(rondo::write_core_figures(recording.core))},
          {"cores_per_rank", recording.cores_per_rank},
          {"own_cache_bytes", recording.own_cache_bytes},
          {"cache_bytes", recording.cache_bytes},
          {"ring_bytes", recording.ring_bytes}};
}

Line line_of(const Json& json) {
  Line line;
  const auto state = std::find_if(std::begin(states), std::end(states), [&](State one) { return json.at("state").get<std::string>() == to_string(one); });
  if (state == std::end(states)) throw std::runtime_error("\"state\": expected only, near or far");
  const auto collective = rondo::parse_collective(json.at("op").get<std::string>());
  if (!collective) throw std::runtime_error(collective.error().detail);
  line.state = *state;
  line.what = {*collective, json.at("bytes").get<std::uint64_t>()};
  json.at("algorithm").get_to(line.algorithm);
  json.at("rounds_chosen").get_to(line.chosen);
  json.at("predicted_ns").get_to(line.predicted_ns);
  json.at("measured_ns").get_to(line.measured_ns);
  json.at("floor_ns").get_to(line.floor_ns);
  return line;
}

Recording recording_of(const Json& json) {
  Recording recording;
  json.at("machine").get_to(recording.machine);
  json.at("ranks").get_to(recording.settings.ranks);
  json.at("in_place").get_to(recording.settings.in_place);
  recording.settings.touched = json.value("touched", false);  // which earlier files don't have
  json.at("symmetric").get_to(recording.settings.symmetric);
  const auto core = rondo::read_core_figures(json.at("core_figures").dump());
  if (!core) throw std::runtime_error("\"core_figures\": " + core.error().detail);
  recording.core = *core;
  json.at("cores_per_rank").get_to(recording.cores_per_rank);
  json.at("own_cache_bytes").get_to(recording.own_cache_bytes);
  json.at("cache_bytes").get_to(recording.cache_bytes);
  json.at("ring_bytes").get_to(recording.ring_bytes);
  for (const Json& line : json.at("lines")) recording.lines.push_back(line_of(line));
  return recording;
}

/// The figures of the machine in one of its states.
rondo::CostModel cost_in(rondo::CostModel cost, const std::vector<Line>& measured, State state) {
  std::vector<double> floors;
  for (const Line& line : measured)
    if (line.state == state && line.floor_ns > 0) floors.push_back(line.floor_ns);
  constexpr double assumed_ns = 100;  // of ranks that share processors, where it plays no part
  rondo::set_latency(cost, floors.empty() ? assumed_ns : bench_support::median(floors), "recorded");
  return cost;
}

}  // namespace

std::string write_recordings(const std::vector<Recording>& recordings) {
  std::ostringstream text;
  text << "[";
  for (std::size_t k = 0; k < recordings.size(); ++k) {
    std::string head = head_of(recordings[k]).dump(1);
    head.resize(head.rfind('\n'));
    text << (k == 0 ? "\n" : ",\n") << head << ",\n \"lines\": [";
    for (std::size_t i = 0; i < recordings[k].lines.size(); ++i) text << (i == 0 ? "\n  " : ",\n  ") << to_json(recordings[k].lines[i]).dump();
    text << "]}";
  }
  text << "]\n";
  return text.str();
}

Result<std::vector<Recording>> read_recordings(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{Errc::io, "cannot read " + path};
  try {
    std::vector<Recording> recordings;
    for (const Json& one : Json::parse(file)) recordings.push_back(recording_of(one));
    return recordings;
  } catch (const std::exception& wrong) {
    return Error{Errc::invalid_argument, path + ": expected what bench_predict --json writes: " + wrong.what()};
  }
}

Result<std::vector<Line>> asked(const rondo::Topology& machine, const rondo::CostModel& figures, const Settings& settings, std::vector<Line> lines) {
  const bool by_kernel =
      !settings.symmetric && std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.algorithm.starts_with("direct"); });
  const auto options = rondo::planning_options(settings.ranks);
  if (!options) return options.error();
  rondo::CostModel cost;
  Result<rondo::Plan> plan(rondo::Plan{});
  for (std::size_t k = 0; k < lines.size(); ++k) {
    Line& line = lines[k];
    if (k == 0 || lines[k - 1].state != line.state) cost = cost_in(figures, lines, line.state);
    if (k == 0 || !same(lines[k - 1], line)) {
      rondo::Request request = rondo::request_of_bytes(line.what.collective, settings.ranks, line.what.bytes, rondo::DataType::f32, settings.in_place);
      request.symmetric = settings.symmetric;
      request.kernel_copies = by_kernel;
      request.rewritten = settings.touched;
      plan = rondo::make_plan(machine, cost, options->limits, request);
      if (!plan) return plan.error();
    }
    line.chosen = plan->header.algorithm == line.algorithm ? 1 : 0;
    for (const rondo::Candidate& candidate : plan->considered)
      if (candidate.algorithm == line.algorithm) line.predicted_ns = candidate.predicted_ns;
  }
  return lines;
}

Result<std::vector<Line>> replay(const Recording& recording) {
  rondo::CostModel figures;
  figures.core = recording.core;
  figures.cores_per_rank = recording.cores_per_rank;
  figures.own_cache_bytes = recording.own_cache_bytes;
  figures.cache_bytes = recording.cache_bytes;
  figures.ring_bytes = recording.ring_bytes;
  return asked(rondo::Topology{}, figures, recording.settings, recording.lines);
}

}  // namespace predict
