/// @defgroup doctor Doctor
/// What this machine grants Rondo, what is missing, and what to type. Facts are gathered in one place and judged in another, so that
/// any machine's can be judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {
/// @addtogroup doctor
/// @{

/// How bad a finding is.
enum class Verdict : std::uint8_t {
  ok,       ///< works, or nothing needs it
  note,     ///< works, but not as one may expect, or slower than it could
  problem,  ///< keeps Rondo from running here
};
std::string_view to_string(Verdict verdict);  ///< "ok", "note" or "problem"

/// What one look found out.
struct Finding {
  std::string check;    ///< what was looked at, a word or two
  Verdict verdict = Verdict::ok;  ///< how bad it is
  std::string meaning;  ///< one line for a person
  std::string remedy;   ///< what to type, one line with a comment for the shell or none; empty where there is nothing to do
};

/// A limit of this process; no value: unlimited.
struct SystemLimit {
  std::optional<std::uint64_t> soft;  ///< in force
  std::optional<std::uint64_t> hard;  ///< up to which the user may raise it without root
};

/// Two ranks that ran all-reduces and compared the sums with what they should be.
struct Trial {
  std::string ranks;             ///< what they were: "threads" or "processes"
  std::string transport;         ///< as CommunicatorOptions::transport
  std::string failure;           ///< why it failed, one line; empty: every sum was right
  double small_ns = 0;           ///< time of one of 8 bytes
  double large_bytes_per_s = 0;  ///< bytes of the buffer by time, for one of some MiB
  bool kernel_copies = false;    ///< the kernel copied from one rank's ordinary memory to the other's
};

/// A machine as a process sees it. Those of gather_machine_facts() have no trials: a program runs them and adds them.
struct MachineFacts {
  // the library
  int version = 0;            ///< as version()
  std::string compiler;       ///< that made it
  bool optimised = true;      ///< built with an optimisation level above 0
  bool sanitized = false;     ///< built with a sanitizer
  std::string ucx_version;    ///< of the UCX that it finds, with its file; empty: none
  std::string ucx_failure;    ///< why it has none
  std::string cuda_version;   ///< as cuda_version()
  std::string kernel_target;  ///< as cpu_kernel_target()
  std::string figures_source;       ///< where the cost model's figures of the cores come from
  bool figures_measured = false;    ///< they are a kept calibration
  std::string calibration_failure;  ///< why the kept one can't be used

  // the machine
  Topology topology;             ///< with one rank, the calling thread; without nodes when it can't be seen
  std::string topology_failure;  ///< why it can't
  bool virtual_machine = false;  ///< the processor says so; false on processors that can't say
  std::string container;         ///< the file that tells of one; empty: none does
  std::string nvidia_driver;     ///< the loaded driver in its own words; empty: none
  std::uint32_t nvidia_devices = 0;  ///< that this process may open
  std::string gpu_links_failure;         ///< why its driver's library can't be asked about the GPUs
  std::vector<std::string> gpus_apart;   ///< which two GPUs can't reach one another's memory, and why
  bool rdma = false;             ///< there are RDMA devices
  std::map<std::string, std::string> interfaces;  ///< of the network that are up: a numeric address by name

  // what the system grants this process
  SystemLimit descriptors;             ///< that may be open at a time
  std::uint64_t open_descriptors = 0;  ///< that are
  SystemLimit file_bytes;              ///< of a file, which shared memory is
  SystemLimit address_bytes;           ///< of the address space
  SystemLimit locked_bytes;            ///< that may be kept from being swapped out
  std::optional<std::uint64_t> tasks_left;  ///< processes and threads that may still be started; no value: no limit
  std::uint64_t memory_bytes = 0;           ///< that can still be taken; 0: unknown
  std::string memory_bound;                 ///< what sets memory_bytes
  std::string sealing_failure;              ///< why there is no sealed shared memory; empty: there is

  // what users set and installed
  std::map<std::string, std::string> environment;  ///< the variables that Rondo, its libraries and launchers read, no others
  std::vector<std::string> launchers;              ///< MPI launchers on PATH

  std::vector<Trial> trials;  ///< what ranks on this machine did; empty: none were tried
};

/// Looks at this process and its machine, all but `trials`. What can't be found out stays at its default. Takes some
/// milliseconds, starts no thread and changes nothing. Must not run while another thread changes the environment.
MachineFacts gather_machine_facts();

/// What the facts mean, in the order in which a person would ask; each check gives one finding or, for variables and trials, one
/// each. A function of its argument alone; never fails.
std::vector<Finding> judge_machine(const MachineFacts& facts);

/// @}
}  // namespace rondo
