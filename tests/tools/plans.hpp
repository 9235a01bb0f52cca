// Plans as the programs write them, and ways to spoil them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What `rondo plan COLLECTIVE --format json` writes; null when that failed. `flags` are more of its flags.
nlohmann::json planned(const std::string& collective, int ranks, const std::string& bytes,
                       const std::string& algorithm = "", const std::vector<std::string>& flags = {});

/// Each spoils a two_shot all-reduce over two ranks; its form stays right, its meaning doesn't.
nlohmann::json off_by_one_chunk(nlohmann::json plan);  ///< what is fetched from the peer is the other chunk
nlohmann::json own_input_twice(nlohmann::json plan);   ///< the peer's contribution is replaced by one's own
nlohmann::json crossed_waits(nlohmann::json plan);     ///< each rank waits for the peer before it has signalled itself

/// The same plan spoiled in one step of one rank, which touches one of its two chunks.
struct Spoiled {
  std::string how;
  std::string fate;  ///< "wrong values" or "deadline": what a run of it shows
  nlohmann::json plan;
};
std::vector<Spoiled> spoiled_at_one_rank(const nlohmann::json& plan);
