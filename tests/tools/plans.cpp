#include "tools/plans.hpp"

#include "tools/subprocess.hpp"

namespace {

using nlohmann::json;

/// The only lane of each of the two ranks.
json& steps_of(json& plan, std::size_t rank) {
  return plan.at("programs").at(rank).at("lanes").at(0);
}

std::string other_chunk(std::string operand) {
  char& index = operand[operand.size() - 2];
  index = index == '0' ? '1' : '0';
  return operand;
}

}  // namespace

json planned(const std::string& collective, int ranks, const std::string& bytes, const std::string& algorithm) {
  std::vector<std::string> command{rondo_program(), "plan", collective, "--ranks", std::to_string(ranks),
                                   "--bytes",       bytes,  "--format", "json"};
  if (!algorithm.empty()) command.insert(command.end(), {"--algorithm", algorithm});
  const Finished finished = run(command);
  return finished.code == 0 ? json::parse(finished.out, nullptr, false) : json();
}

json off_by_one_chunk(json plan) {
  for (const std::size_t rank : {0u, 1u})
    for (json& step : steps_of(plan, rank))
      if (step.contains("reduce"))
        for (json& source : step.at("reduce"))
          if (source.get<std::string>().starts_with("scratch")) source = other_chunk(source);
  return plan;
}

json own_input_twice(json plan) {
  for (const std::size_t rank : {0u, 1u})
    for (json& step : steps_of(plan, rank))
      if (step.contains("reduce"))
        for (json& source : step.at("reduce"))
          if (source.get<std::string>().starts_with("scratch")) source = "input" + source.get<std::string>().substr(9);
  return plan;
}

json crossed_waits(json plan) {
  for (const std::size_t rank : {0u, 1u}) {
    json& steps = steps_of(plan, rank);
    json wait = steps.at(2);
    wait.erase("skew");
    steps.erase(2);
    steps.insert(steps.begin(), wait);
  }
  return plan;
}
