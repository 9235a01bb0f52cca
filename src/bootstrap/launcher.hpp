// A launcher that started this process as a rank of a job and passes texts on: mpirun and srun over PMIx, MPICH's mpiexec over PMI, torchrun by a store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/config.hpp"
#include "rondo/result.hpp"

namespace rondo {

class Launcher {
 public:
  virtual ~Launcher() = default;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  /// Rank 0's text, to all; the others' is ignored. Every rank calls it, as often as all others. Blocks until rank 0 has, or until `deadline_ns`
  /// where the launcher knows deadlines. `text`: at most 127 printable characters without spaces and '='.
  virtual Result<std::string> share(const std::string& text, std::int64_t deadline_ns) = 0;
  /// Whether nobody but the job's ranks hears what is shared.
  virtual bool is_private() const { return true; }
};

/// The launcher that this environment tells of; null: it tells of none. Errors: unsupported, io (it can't be spoken to; says why).
Result<std::unique_ptr<Launcher>> find_launcher(const Environment& environment);

/// Of find_launcher's kinds, each: null where the environment doesn't tell of it.
Result<std::unique_ptr<Launcher>> find_pmix(const Environment& environment);
Result<std::unique_ptr<Launcher>> find_pmi(const Environment& environment);

/// The store of torchrun's agents, for a job that has one. Whoever reaches MASTER_PORT hears it. Errors: invalid_argument, io (it can't be reached),
/// out_of_resources.
Result<std::unique_ptr<Launcher>> find_agent_store(const JobEnvironment& job, std::int64_t deadline_ns);

}  // namespace rondo
