#include "compare/participants.hpp"

#include <unistd.h>

#include "support/cores.hpp"

namespace compare {
namespace {

using Words = std::vector<std::string>;

struct Setting {
  std::string name;
  Words flags;
  std::vector<std::pair<std::string, std::string>> environment;
};

// Open MPI 4.1, its FAQ on tuning shared memory and `ompi_info --param btl vader`: the kernel's single copy, two copies
// through shared memory, and two copies in larger fragments. Of a dozen settings tried here these three were the best
// somewhere from 4 B to 64 MiB; coll/sm, coll/han, coll/adapt and forced tuned algorithms were not, or by little.
std::vector<Setting> open_mpi_settings() {
  const Words cma{"--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism",
                  "cma"};
  Words two_copies = cma;
  two_copies.back() = "none";
  Words large_fragments = two_copies;
  large_fragments.insert(large_fragments.end(),
                         {"--mca", "btl_vader_eager_limit", "65536", "--mca", "btl_vader_max_send_size", "65536"});
  return {{"vader cma", cma, {}}, {"vader two copies", two_copies, {}}, {"vader 64K fragments", large_fragments, {}}};
}

// MPICH 4.0, as `mpivars` documents: its own choice, recursive doubling (ahead below some KiB), and the shared area for
// small messages. It has no way to yield, so with more ranks than cores every call costs time slices whatever is set.
std::vector<Setting> mpich_settings(std::uint32_t ranks) {
  if (ranks > bench_support::usable_cores()) return {{"default", {}, {}}};
  return {{"default", {}, {}},
          {"recursive doubling", {}, {{"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling"}}},
          {"release_gather",
           {},
           {{"MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM", "release_gather"},
            {"MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE", "131072"}}}};
}

std::string describe(const Participant& participant) {
  std::string text;
  for (const auto& [name, value] : participant.environment) text += name + "=" + value + " ";
  for (const std::string& word : participant.command) {
    const std::size_t slash = word.rfind('/');
    text += (slash == std::string::npos ? word : word.substr(slash + 1)) + " ";
  }
  return text.substr(0, text.size() - 1);
}

Participant start_each(const std::string& library, const std::string& setting, std::uint32_t ranks,
                       const std::string& program, bool pinned) {
  Participant participant{library, setting, "", ranks, false, {program, "--setting", setting}, {}};
  if (!pinned) participant.command.push_back("--free");
  return participant;
}

Participant start_open_mpi(const Setting& setting, std::uint32_t ranks, const std::string& program) {
  Participant p{"openmpi", setting.name, "", ranks, true, {"mpirun.openmpi"}, setting.environment};
  // `isolated`: no remote shell is looked for. Ranks pin themselves, like every other library's.
  Words flags{"--mca", "plm", "isolated", "--bind-to", "none", "-n", std::to_string(ranks)};
  if (geteuid() == 0) flags.push_back("--allow-run-as-root");
  if (ranks > bench_support::usable_cores()) flags.insert(flags.end(), {"--oversubscribe", "--mca", "mpi_yield_when_idle", "1"});
  p.command.insert(p.command.end(), flags.begin(), flags.end());
  p.command.insert(p.command.end(), setting.flags.begin(), setting.flags.end());
  p.command.push_back(program);
  return p;
}

Participant start_mpich(const Setting& setting, std::uint32_t ranks, const std::string& program) {
  Participant p{"mpich", setting.name, "", ranks, true, {"mpiexec.mpich"}, setting.environment};
  const Words flags{"-launcher", "fork", "-bind-to", "none", "-n", std::to_string(ranks), program};
  p.command.insert(p.command.end(), flags.begin(), flags.end());
  return p;
}

}  // namespace

std::vector<Participant> make_participants(const std::vector<std::string>& libraries, const std::vector<std::string>& plans, std::uint32_t ranks,
                                           const std::string& programs, std::vector<std::string>& notes) {
  std::vector<Participant> all;
  for (const std::string& library : libraries) {
    const std::string program = programs + "/compare_" + library;
    if (access(program.c_str(), X_OK) != 0) {
      notes.push_back(library + ": left out, its program was not built (is its development package installed?)");
      continue;
    }
    if (library == "openmpi") {
      for (const Setting& setting : open_mpi_settings()) all.push_back(start_open_mpi(setting, ranks, program));
    } else if (library == "mpich") {
      for (const Setting& setting : mpich_settings(ranks)) all.push_back(start_mpich(setting, ranks, program));
    } else if (library == "gloo") {
      all.push_back(start_each(library, "tcp ring", ranks, program, true));
      all.push_back(start_each(library, "tcp bcube", ranks, program, true));
      // A rank of Gloo is two threads, its caller and its device's loop, and between calls both sleep. Pinned to one processor they
      // wait for each other: of 2 ranks those free to move were ahead from 64 KiB to 1 MiB, so they take part too, under a name that says so.
      all.push_back(start_each(library, "tcp bcube unpinned", ranks, program, false));
    } else if (library == "floor") {
      all.push_back(start_each(library, "one-shot", ranks, program, true));
      all.push_back(start_each(library, "two-shot", ranks, program, true));
    } else {
      all.push_back(start_each(library, "default", ranks, program, true));
    }
  }
  for (const std::string& plan : plans) all.push_back(start_each("plan", plan, ranks, programs + "/compare_rondo", true));
  for (Participant& participant : all) participant.description = describe(participant);
  return all;
}

}  // namespace compare
