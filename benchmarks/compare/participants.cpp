#include "compare/participants.hpp"

#include <unistd.h>

#include <fstream>

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

bool has_avx512() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string word; info >> word;)
    if (word == "avx512f") return true;
  return false;
}

// Intel MPI 2021.19, as `impi_info -a` documents: its own choice; the kernel's single copy from 128 KiB on (reduce_scatter and
// all_to_all of 1 MiB in half the time); and that with its AVX-512 transport (all_reduce of 64 KiB in 14 % less time). Settings of
// yielding, waiting, the heap and the single copy of smaller messages were no better anywhere.
std::vector<Setting> intel_mpi_settings() {
  const std::pair<std::string, std::string> single_copy{"I_MPI_SHM_CMA_THRESHOLD", "131072"};
  std::vector<Setting> settings{{"shm", {}, {}}, {"shm cma 128K", {}, {single_copy}}};
  if (has_avx512()) settings.push_back({"shm avx512 cma 128K", {}, {{"I_MPI_SHM", "skx_avx512"}, single_copy}});
  return settings;
}

// oneCCL 2022.2 over Intel MPI, in the caller's thread. By default a second thread for each rank does the work: with no processor left
// for it a call takes time slices, 15 ms where this takes 4 µs. Its other transport, libfabric, took 4 times as long up to 4 KiB.
std::vector<Setting> oneccl_settings() {
  return {{"mpi in caller", {}, {{"CCL_ATL_TRANSPORT", "mpi"}, {"CCL_WORKER_OFFLOAD", "0"}, {"CCL_KVS_IFACE", "lo"}, {"CCL_LOG_LEVEL", "error"}}}};
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
  // Left to its device layer, MPI_Reduce in place of 1 MiB dies (4.0.2), and out of place it takes longer at all sizes.
  p.environment.emplace_back("MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE", "0");
  return p;
}

// Both of Intel's. Ranks pin themselves, and no network is looked for.
Participant start_intel(const std::string& library, const Setting& setting, std::uint32_t ranks, const std::string& program) {
  Participant p{library, setting.name, "", ranks, true, {RONDO_COMPARE_PEERS "/bin/mpiexec.hydra"}, setting.environment};
  const Words flags{"-bootstrap", "fork", "-n", std::to_string(ranks), program};
  p.command.insert(p.command.end(), flags.begin(), flags.end());
  p.environment.insert(p.environment.end(), {{"I_MPI_FABRICS", "shm"}, {"I_MPI_PIN", "0"}});
  return p;
}

}  // namespace

std::vector<Participant> make_participants(const std::vector<std::string>& libraries, const std::vector<std::string>& plans, std::uint32_t ranks,
                                           const std::string& programs, std::vector<std::string>& notes) {
  std::vector<Participant> all;
  for (const std::string& library : libraries) {
    const std::string program = programs + "/compare_" + (library == "symmetric" ? "rondo" : library);
    if (access(program.c_str(), X_OK) != 0) {
      notes.push_back(library + ": left out, its program was not built (is its development package installed?)");
      continue;
    }
    if (library == "openmpi") {
      for (const Setting& setting : open_mpi_settings()) all.push_back(start_open_mpi(setting, ranks, program));
    } else if (library == "mpich") {
      for (const Setting& setting : mpich_settings(ranks)) all.push_back(start_mpich(setting, ranks, program));
    } else if (library == "intelmpi") {
      for (const Setting& setting : intel_mpi_settings()) all.push_back(start_intel(library, setting, ranks, program));
    } else if (library == "oneccl") {
      for (const Setting& setting : oneccl_settings()) all.push_back(start_intel(library, setting, ranks, program));
    } else if (library == "gloo") {
      all.push_back(start_each(library, "tcp ring", ranks, program, true));
      all.push_back(start_each(library, "tcp bcube", ranks, program, true));
      // A rank of Gloo is two threads, its caller and its device's loop, and between calls both sleep. Pinned to one processor they
      // wait for each other: of 2 ranks those free to move were ahead from 64 KiB to 1 MiB, so they take part too, under a name that says so.
      all.push_back(start_each(library, "tcp bcube unpinned", ranks, program, false));
    } else if (library == "floor") {
      all.push_back(start_each(library, "one-shot", ranks, program, true));
      all.push_back(start_each(library, "two-shot", ranks, program, true));
    } else if (library == "symmetric") {
      all.push_back(start_each(library, "symmetric", ranks, program, true));
    } else {
      all.push_back(start_each(library, "default", ranks, program, true));
    }
  }
  for (const std::string& plan : plans) all.push_back(start_each("plan", plan, ranks, programs + "/compare_rondo", true));
  for (Participant& participant : all) participant.description = describe(participant);
  return all;
}

}  // namespace compare
