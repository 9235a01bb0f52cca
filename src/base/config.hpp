// What the environment says, read in one place. The table in config.cpp documents every variable.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/port_range.hpp"
#include "rondo/result.hpp"

namespace rondo {

using Environment = std::map<std::string, std::string>;

/// How Rondo behaves in this process. An empty optional means that the variable isn't set.
struct Config {
  LogLevel log = LogLevel::warn;
  std::optional<std::chrono::nanoseconds> timeout;
  std::string algorithm;
  bool strict = false;                     ///< of communicators whose program doesn't say it
  bool integrity = false;                  ///< likewise
  std::uint64_t coalesce_bytes = 0;            ///< of communicators whose program doesn't say it
  std::chrono::nanoseconds coalesce_time{0};  ///< likewise
  std::uint64_t staging_bytes = 8u << 20;  ///< all shared memory of this process, control words included
  bool kernel_copies = true;               ///< between the memory of processes, where the kernel lets them
  std::vector<std::string> net_interfaces; ///< for what goes to other machines, the preferred ones first; empty: as the routes say
  PortRange net_ports;                     ///< at which ranks of other machines may call; not given: as the kernel likes
  std::string job_key_file;                ///< of jobs on several machines; empty: none
  bool nccl_host = false;                  ///< librondo-nccl's buffers are plain memory
  bool require_job_key = false;            ///< such jobs without one are an error
  std::string cache_folder;                ///< where this user's measurements are kept; empty: nowhere
  std::vector<std::string> warnings;       ///< variables that nobody reads, and what may have been meant
};

/// One rank's place in a job, as torchrun and others describe it.
struct JobEnvironment {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;   ///< ranks on this machine; all of them where nothing says it
  bool agent_store = false;       ///< torchrun's agents have a store at master_address, master_port: nobody else can listen there
  bool several_machines = false;  ///< or perhaps so: where nothing says how many ranks are on this one, and rank 0's address isn't a loopback one
  std::string master_address;
  std::uint16_t master_port = 0;
  std::string run_id;  ///< "" when the launcher sets none
  std::uint32_t restart_count = 0;
};

/// One variable as the documentation lists it.
struct Variable {
  std::string_view name;
  std::string_view meaning;
  std::string_view accepted;
  std::string_view standard;  ///< the default
};

/// All variables that Rondo reads.
const std::vector<Variable>& known_variables();

/// A copy of the process's environment. Must not run while another thread changes it.
Environment read_environment();

/// Interprets RONDO_*. Errors (invalid_argument) name variable, value and what would be accepted.
Result<Config> parse_config(const Environment& environment);

/// This process's configuration, read at the first call, which also logs `warnings` once. Thread-safe.
const Result<Config>& config();

/// Interprets RANK, WORLD_SIZE and the rest together. LOCAL_RANK and LOCAL_WORLD_SIZE default to RANK and WORLD_SIZE.
/// Errors (invalid_argument) name variable, value and what would be accepted, also where two variables contradict.
Result<JobEnvironment> parse_job_environment(const Environment& environment);

}  // namespace rondo
