#include "tools/plans.hpp"

#include <stdexcept>

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

json planned(const std::string& collective, int ranks, const std::string& bytes, const std::string& algorithm, const std::vector<std::string>& flags) {
  std::vector<std::string> command{rondo_program(), "plan", collective, "--ranks", std::to_string(ranks),
                                   "--bytes",       bytes,  "--format", "json"};
  if (!algorithm.empty()) command.insert(command.end(), {"--algorithm", algorithm});
  command.insert(command.end(), flags.begin(), flags.end());
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

std::vector<Spoiled> spoiled_at_one_rank(const json& plan) {
  // The steps of a lane: 0 put a chunk, 1 signal, 2 wait, 3 reduce, 4 signal, 5 wait, 6 fetch the other chunk.
  std::vector<Spoiled> all;
  for (const std::size_t rank : {0u, 1u}) {
    const auto add = [&](const std::string& how, const std::string& fate, const auto& spoil) {
      json changed = plan;
      spoil(steps_of(changed, rank));
      all.push_back({"rank " + std::to_string(rank) + " " + how, fate, std::move(changed)});
    };
    const auto shift = [](json& operand) { operand = other_chunk(operand); };
    const std::string peers_chunk = "scratch@" + std::to_string(1 - rank) + "[1]";
    const auto peers_part = [&](json& steps) -> json& {
      for (json& source : steps.at(3).at("reduce"))
        if (source == peers_chunk) return source;
      throw std::runtime_error("no step reads " + peers_chunk);
    };
    add("puts nothing", "wrong values", [&](json& steps) { steps.erase(0); });
    add("puts the other chunk", "wrong values", [&](json& steps) { shift(steps.at(0).at("copy")); });
    add("reads its own input twice", "wrong values", [&](json& steps) { peers_part(steps) = "input[" + std::to_string(rank) + "]"; });
    add("reads the peer's other chunk", "wrong values", [&](json& steps) { shift(peers_part(steps)); });
    add("writes its sum to the other chunk", "wrong values", [&](json& steps) { shift(steps.at(3).at("to").at(0)); });
    add("fetches nothing", "wrong values", [&](json& steps) { steps.erase(6); });
    add("fetches the other chunk", "wrong values", [&](json& steps) { shift(steps.at(6).at("copy")); });
    add("fetches into the other chunk", "wrong values", [&](json& steps) { shift(steps.at(6).at("to").at(0)); });
    if (rank == 1) add("never says that its sum is there", "deadline", [&](json& steps) { steps.erase(4); });
  }
  return all;
}
