#include "base/config.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/text.hpp"

namespace rondo {
namespace {

constexpr std::array<std::string_view, 6> level_names{"off", "error", "warn", "info", "debug", "trace"};

}  // namespace

const std::vector<Variable>& known_variables() {
  static const std::vector<Variable> table{
      // name, meaning, accepted, default
      {"RONDO_LOG", "least severe message that is written to stderr", "off, error, warn, info, debug, trace", "warn"},
      {"RONDO_TIMEOUT", "deadline of each operation, where the program sets none",
       "seconds, a decimal number greater than 0", "1800"},
      {"RONDO_ALGORITHM", "use this algorithm wherever it can serve", "an algorithm's name, see 'rondo plan'",
       "the cost model chooses"},
      {"RONDO_STRICT", "reductions whose bits depend on the inputs and the number of ranks alone", "0, 1", "0"},
      {"RONDO_INTEGRITY", "what passes between ranks has checksums, and what changed on the way is an error", "0, 1", "0"},
      {"RONDO_COALESCE_BYTES", "smaller all_reduces that are started one after another run together, up to so many bytes", "a size from 0 to 1G", "0"},
      {"RONDO_COALESCE_TIME", "how long one that nobody waits for is held back for others to come", "seconds, a decimal number greater than 0 and at most 1",
       "none are held back"},
      {"RONDO_STAGING_BYTES", "shared memory that a process may use for staging and control",
       "a size from 64K to 64G, suffixes K, M and G", "8M"},
      {"RONDO_KERNEL_COPIES", "the kernel may copy from one process's memory to another's (process_vm_readv); 0 on any rank: it does on none", "0, 1", "1"},
      {"RONDO_NET_INTERFACES", "network interfaces for what goes to other machines: all that have an address are used, each with a part of the traffic",
       "names with commas between them, as eth0,ib0",
       "the one by which rank 0 is reached"},
      {"RONDO_NET_PORTS", "ports at which ranks of other machines may call this one, besides rank 0's MASTER_PORT; each rank takes the first that is free",
       "two whole numbers from 1 to 65535 with - between them, as 20000-20999", "those that the kernel gives"},
      {"RONDO_JOB_KEY_FILE", "the secret by which ranks on several machines know one another, equal on all of them",
       "a file of mode 0600 with 64 hexadecimal digits", "none: whoever reaches rank 0's port can join"},
      {"RONDO_REQUIRE_JOB_KEY", "ranks on several machines that have no key are an error", "0, 1", "0"},
      {"RONDO_NCCL_HOST", "of librondo-nccl: buffers are plain memory, streams are ignored", "0, 1", "0: buffers are GPU memory"},
      {"RONDO_TAKEOVER", "of PyTorch: process groups that ask for this backend run on Rondo (read by the Python package)", "gloo", "none"},
      {"RONDO_CACHE", "folder for what 'rondo calibrate' has measured", "a folder's absolute path", "rondo in XDG_CACHE_HOME, else .cache/rondo in HOME"},
      {"XDG_CACHE_HOME", "folder of the user's caches, where RONDO_CACHE isn't set", "a folder's absolute path; others are ignored", ".cache in HOME"},
      {"HOME", "the user's folder", "a folder's absolute path; others are ignored", "none"},
      {"RANK", "this process's rank in its job", "a whole number below WORLD_SIZE", "what a launcher says that speaks PMIx or PMI; else needed to join a job"},
      {"WORLD_SIZE", "ranks in the job", "a whole number from 1 to 4294967295", "none; needed to join a job"},
      {"LOCAL_RANK", "this process's rank on its machine", "a whole number below LOCAL_WORLD_SIZE", "RANK"},
      {"LOCAL_WORLD_SIZE", "ranks on this machine", "a whole number from 1 to WORLD_SIZE",
       "WORLD_SIZE where MASTER_ADDR is a loopback address, else unknown"},
      {"MASTER_ADDR", "where rank 0 runs, the same on all ranks", "a host name or an address", "127.0.0.1"},
      {"MASTER_PORT", "a port that names the job on its machine, and where rank 0 listens where there are several machines", "a whole number from 1 to 65535",
       "none; needed to join a job"},
      {"TORCHELASTIC_RUN_ID", "name of the run, which keeps two jobs apart", "any text", "empty"},
      {"TORCHELASTIC_RESTART_COUNT", "how often the job was restarted", "a whole number", "0"},
      {"TORCHELASTIC_USE_AGENT_STORE", "whether torchrun has a store at MASTER_PORT, through which ranks of several machines then meet", "True; all else is no",
       "empty"},
  };
  return table;
}

namespace {

std::optional<PortRange> parse_ports(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto first = parse_unsigned(text.substr(0, dash)), last = parse_unsigned(text.substr(dash + 1));
  if (!first || !last || *first == 0 || *first > *last || *last > UINT16_MAX) return std::nullopt;
  return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

const Variable& documented(std::string_view name) {
  for (const Variable& variable : known_variables())
    if (variable.name == name) return variable;
  __builtin_trap();  // a variable that the table lacks must not be read
}

Error bad_value(std::string_view name, std::string_view value, std::string_view accepted = {}) {
  if (accepted.empty()) accepted = documented(name).accepted;
  return Error{Errc::invalid_argument,
               std::string(name) + "='" + std::string(value) + "'; accepted: " + std::string(accepted)};
}

Error missing(std::string_view name) {
  return Error{Errc::invalid_argument,
               std::string(name) + " is not set; expected " + std::string(documented(name).accepted)};
}

// The variable's text, or nothing when it is unset or empty, which shells make hard to tell apart.
std::optional<std::string> lookup(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(documented(name).name));
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

/// A variable that is 0 or 1, into `value`, which stays as it is where there is none.
Result<void> read_switch(const Environment& environment, std::string_view name, bool& value) {
  const auto text = lookup(environment, name);
  if (!text) return {};
  if (*text != "0" && *text != "1") return bad_value(name, *text);
  value = *text == "1";
  return {};
}

/// As the XDG Base Directory Specification has it, relative paths are ignored.
std::string user_cache_folder(const Environment& environment) {
  if (const auto caches = lookup(environment, "XDG_CACHE_HOME"); caches && caches->starts_with('/')) return *caches + "/rondo";
  if (const auto home = lookup(environment, "HOME"); home && home->starts_with('/')) return *home + "/.cache/rondo";
  return {};
}

std::vector<std::string> unknown_variables(const Environment& environment) {
  std::vector<std::string_view> ours;
  for (const Variable& variable : known_variables())
    if (variable.name.starts_with("RONDO_")) ours.push_back(variable.name);
  std::vector<std::string> warnings;
  for (auto entry = environment.lower_bound("RONDO_"); entry != environment.end(); ++entry) {
    const std::string& name = entry->first;
    if (!name.starts_with("RONDO_")) break;
    if (std::find(ours.begin(), ours.end(), name) != ours.end()) continue;
    warnings.push_back(name + " is set, but Rondo reads no such variable; did you mean " +
                       std::string(closest(name, ours)) + "?");
  }
  return warnings;
}

}  // namespace

Environment read_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line{*entry};
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      result.emplace(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
  }
  return result;
}

Result<Config> parse_config(const Environment& environment) {
  Config result;
  if (const auto text = lookup(environment, "RONDO_LOG")) {
    const auto name = std::find(level_names.begin(), level_names.end(), *text);
    if (name == level_names.end()) return bad_value("RONDO_LOG", *text);
    result.log = static_cast<LogLevel>(name - level_names.begin());
  }
  if (const auto text = lookup(environment, "RONDO_TIMEOUT")) {
    result.timeout = parse_seconds(*text);
    if (!result.timeout) return bad_value("RONDO_TIMEOUT", *text);
  }
  if (const auto text = lookup(environment, "RONDO_ALGORITHM")) result.algorithm = *text;
  if (auto read = read_switch(environment, "RONDO_STRICT", result.strict); !read) return read.error();
  if (auto read = read_switch(environment, "RONDO_INTEGRITY", result.integrity); !read) return read.error();
  if (const auto text = lookup(environment, "RONDO_COALESCE_BYTES")) {
    const auto bytes = parse_size(*text);
    if (!bytes || *bytes > (1u << 30)) return bad_value("RONDO_COALESCE_BYTES", *text);
    result.coalesce_bytes = *bytes;
  }
  if (const auto text = lookup(environment, "RONDO_COALESCE_TIME")) {
    const auto time = parse_seconds(*text);
    if (!time || *time > std::chrono::seconds(1)) return bad_value("RONDO_COALESCE_TIME", *text);
    result.coalesce_time = *time;
  }
  if (const auto text = lookup(environment, "RONDO_STAGING_BYTES")) {
    const auto bytes = parse_size(*text);
    if (!bytes || *bytes < (64u << 10) || *bytes > (64ull << 30)) return bad_value("RONDO_STAGING_BYTES", *text);
    result.staging_bytes = *bytes;
  }
  if (auto read = read_switch(environment, "RONDO_KERNEL_COPIES", result.kernel_copies); !read) return read.error();
  if (const auto text = lookup(environment, "RONDO_NET_INTERFACES")) {
    std::istringstream names(*text);
    for (std::string name; std::getline(names, name, ',');) {
      if (name.empty() || name.find_first_of(" /") != std::string::npos) return bad_value("RONDO_NET_INTERFACES", *text);
      result.net_interfaces.push_back(name);
    }
    if (result.net_interfaces.empty()) return bad_value("RONDO_NET_INTERFACES", *text);
  }
  if (const auto text = lookup(environment, "RONDO_NET_PORTS")) {
    const auto ports = parse_ports(*text);
    if (!ports) return bad_value("RONDO_NET_PORTS", *text);
    result.net_ports = *ports;
  }
  result.job_key_file = lookup(environment, "RONDO_JOB_KEY_FILE").value_or("");
  if (auto read = read_switch(environment, "RONDO_REQUIRE_JOB_KEY", result.require_job_key); !read) return read.error();
  if (auto read = read_switch(environment, "RONDO_NCCL_HOST", result.nccl_host); !read) return read.error();
  result.cache_folder = user_cache_folder(environment);
  if (const auto text = lookup(environment, "RONDO_TAKEOVER"); text && *text != "gloo") return bad_value("RONDO_TAKEOVER", *text);
  if (const auto text = lookup(environment, "RONDO_CACHE")) {
    if (!text->starts_with('/')) return bad_value("RONDO_CACHE", *text);
    result.cache_folder = *text;
  }
  result.warnings = unknown_variables(environment);
  return result;
}

const Result<Config>& config() {
  static const Result<Config> result = parse_config(read_environment());
  // A static of its own, since logging asks for the configuration again.
  static const bool warned = [] {
    if (result)
      for (const std::string& warning : result->warnings) log_warn(warning);
    return true;
  }();
  static_cast<void>(warned);
  return result;
}

namespace {

// Reads a whole number in [least, most]; leaves `target` alone when the variable isn't set.
template <class T>
Result<void> read_number(const Environment& environment, std::string_view name, T& target, std::uint64_t least,
                         std::uint64_t most, std::string_view accepted = {}) {
  const auto text = lookup(environment, name);
  if (!text) return {};
  const auto value = parse_unsigned(*text);
  if (!value || *value < least || *value > most) return bad_value(name, *text, accepted);
  target = static_cast<T>(*value);
  return {};
}

}  // namespace

Result<JobEnvironment> parse_job_environment(const Environment& environment) {
  for (const std::string_view needed : {"RANK", "WORLD_SIZE", "MASTER_PORT"})
    if (!lookup(environment, needed)) return missing(needed);
  JobEnvironment job;
  if (auto read = read_number(environment, "WORLD_SIZE", job.size, 1, UINT32_MAX); !read) return read.error();
  const std::string below_size = "a whole number below WORLD_SIZE, which is " + std::to_string(job.size);
  if (auto read = read_number(environment, "RANK", job.rank, 0, job.size - 1, below_size); !read) return read.error();
  job.local_size = job.size;
  const std::string up_to_size = "a whole number from 1 to WORLD_SIZE, which is " + std::to_string(job.size);
  if (auto read = read_number(environment, "LOCAL_WORLD_SIZE", job.local_size, 1, job.size, up_to_size); !read)
    return read.error();
  if (!lookup(environment, "LOCAL_RANK") && job.local_size != job.size) return missing("LOCAL_RANK");
  job.local_rank = job.rank;
  const std::string below_local = "a whole number below LOCAL_WORLD_SIZE, which is " + std::to_string(job.local_size);
  if (auto read = read_number(environment, "LOCAL_RANK", job.local_rank, 0, job.local_size - 1, below_local); !read)
    return read.error();
  if (auto read = read_number(environment, "MASTER_PORT", job.master_port, 1, UINT16_MAX); !read) return read.error();
  if (auto read = read_number(environment, "TORCHELASTIC_RESTART_COUNT", job.restart_count, 0, UINT32_MAX); !read)
    return read.error();
  job.master_address = lookup(environment, "MASTER_ADDR").value_or("127.0.0.1");
  job.several_machines = lookup(environment, "LOCAL_WORLD_SIZE") ? job.local_size != job.size : !is_loopback(job.master_address);
  job.run_id = lookup(environment, "TORCHELASTIC_RUN_ID").value_or("");
  job.agent_store = lookup(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  return job;
}

}  // namespace rondo
