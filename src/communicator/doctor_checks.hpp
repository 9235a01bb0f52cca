// The checks behind judge_machine(), and the words they share. Each is a function of the facts alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/doctor.hpp"

namespace rondo::doctor {

using Findings = std::vector<Finding>;

Findings check_library(const MachineFacts& facts);
Findings check_kernels(const MachineFacts& facts);
Findings check_calibration(const MachineFacts& facts);

Findings check_processors(const MachineFacts& facts);
Findings check_memory_system(const MachineFacts& facts);
Findings check_surroundings(const MachineFacts& facts);
Findings check_gpus(const MachineFacts& facts);

Findings check_open_files(const MachineFacts& facts);
Findings check_tasks(const MachineFacts& facts);
Findings check_shared_memory(const MachineFacts& facts);
Findings check_sizes(const MachineFacts& facts);
Findings check_locked_memory(const MachineFacts& facts);
Findings check_staging(const MachineFacts& facts);

Findings check_settings(const MachineFacts& facts);
Findings check_launcher(const MachineFacts& facts);
Findings check_foreign_variables(const MachineFacts& facts);

Findings check_trials(const MachineFacts& facts);
Findings check_peers(const MachineFacts& facts);

/// Processors that ranks can spin on; 1 where the machine can't be seen.
std::uint32_t usable_processors(const MachineFacts& facts);

/// Ranks of a usual job: one a usable processor, at least 2.
std::uint32_t usual_ranks(const MachineFacts& facts);

/// The variables that the checks read, out of a whole environment: the rest is nobody's business.
std::map<std::string, std::string> variables_of_interest(const std::map<std::string, std::string>& environment);

/// "1 rank", "2 ranks"
std::string counted(std::uint64_t number, std::string_view thing);

/// A number as a person writes it: "0.5", "2"
std::string plain_number(double number);

}  // namespace rondo::doctor
