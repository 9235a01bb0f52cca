// What the environment says, to Rondo and to the libraries and launchers around it.
#include <algorithm>
#include <array>

#include "base/config.hpp"
#include "base/text.hpp"
#include "communicator/doctor_checks.hpp"
#include "communicator/settings.hpp"

namespace rondo::doctor {
namespace {

constexpr std::string_view own_prefix = "RONDO_";

/// A launcher that says a rank's place in words of its own.
struct ForeignLauncher {
  const char* name;
  const char* rank;
  const char* size;
  const char* way;  ///< set where it can be asked for the other ranks (src/bootstrap/launcher.hpp)
};
constexpr std::array foreign_launchers{ForeignLauncher{"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"},
                                       ForeignLauncher{"a launcher that speaks PMI", "PMI_RANK", "PMI_SIZE", "PMI_FD"},
                                       ForeignLauncher{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "PMIX_RANK"}};

/// Other libraries' variables that change what Rondo sees or does.
struct Foreign {
  std::string_view prefix;
  const char* check;
  const char* effect;
};
constexpr std::array foreign_variables{
    Foreign{"UCX_", "UCX variables",
            "what they set holds, for Rondo's links to other machines, too; a value that UCX can't read stops it"},
    Foreign{"HWLOC_", "hwloc variables", "they may show Rondo another machine than this one"}};

bool is_identifier(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::vector<std::string_view> own_variables() {
  std::vector<std::string_view> names;
  for (const Variable& variable : known_variables())
    if (variable.name.starts_with(own_prefix)) names.push_back(variable.name);
  return names;
}

/// Those that say a rank's place in a job.
std::vector<std::string_view> job_variables() {
  std::vector<std::string_view> names;
  for (const Variable& variable : known_variables())
    if (!variable.name.starts_with(own_prefix)) names.push_back(variable.name);
  return names;
}

bool is_set(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found != environment.end() && !found->second.empty();
}

/// Of a list that can be read.
Finding judge_interfaces(const std::string& name, const std::string& value, const std::vector<std::string>& wanted, const MachineFacts& facts) {
  std::string used, unknown, all;
  const auto add = [](std::string& list, const std::string& word) { list += (list.empty() ? "" : ", ") + word; };
  for (const std::string& interface : wanted) {
    const auto found = facts.interfaces.find(interface);
    if (found == facts.interfaces.end()) add(unknown, interface);
    else add(used, interface + " (" + found->second + ")");
  }
  for (const auto& [interface, address] : facts.interfaces) add(all, interface);
  if (used.empty()) return {name, Verdict::problem, in_quotes(value) + ": none of them has an address here; accepted: some of " + all, "unset " + name};
  const std::string meaning = in_quotes(value) + ": what goes to other machines goes by " + used;
  if (unknown.empty()) return {name, Verdict::ok, meaning, ""};
  return {name, Verdict::note, meaning + "; no address here: " + unknown, ""};
}

Finding judge_setting(const std::string& name, const std::string& value, const MachineFacts& facts) {
  const auto& known = known_variables();
  const auto variable = std::find_if(known.begin(), known.end(), [&](const Variable& one) { return one.name == name; });
  const auto config = parse_config({{name, value}});  // alone, so that one bad value doesn't hide the next
  if (!config) return {name, Verdict::problem, config.error().detail + "; no rank starts with it", "unset " + name};
  if (variable == known.end()) {
    const std::string meant{closest(name, own_variables())};
    const std::string rename = "export " + meant + "=\"$" + name + "\"; unset " + name;
    return {name, Verdict::note, in_quotes(value) + ": " + config->warnings.front(), is_identifier(name) ? rename : ""};
  }
  if (!config->net_interfaces.empty()) return judge_interfaces(name, value, config->net_interfaces, facts);
  const std::string meaning = value.empty() ? "empty, as if it weren't set" : in_quotes(value) + ": " + std::string(variable->meaning);
  if (name != "RONDO_ALGORITHM" || value.empty()) return {name, Verdict::ok, meaning, ""};
  if (const std::string choices = choices_for_algorithm(value); !choices.empty())
    return {name, Verdict::problem, in_quotes(value) + " is no algorithm, and no rank starts with it; accepted: " + choices, "unset " + name};
  return {name, Verdict::note, meaning + ", though another may be faster", "unset " + name};
}

/// Of RANK and the rest: which are there, as words to unset.
std::string set_job_variables(const Environment& environment) {
  std::string names;
  for (const std::string_view name : job_variables())
    if (is_set(environment, name)) names += " " + std::string(name);
  return names;
}

Findings judge_foreign_launcher(const Environment& environment) {
  for (const ForeignLauncher& launcher : foreign_launchers)
    if (is_set(environment, launcher.rank) && is_set(environment, launcher.size)) {
      if (is_set(environment, launcher.way))
        return {{"launcher", Verdict::ok,
                 std::string(launcher.name) + " started this rank; Communicator::from_environment() finds the others through it", ""}};
      return {{"launcher", Verdict::note,
               std::string(launcher.name) + " set " + launcher.rank + ", and can't be asked for the other ranks; Communicator::from_environment() reads " +
                   "RANK, WORLD_SIZE and MASTER_PORT",
               std::string("export RANK=$") + launcher.rank + " WORLD_SIZE=$" + launcher.size +
                   " MASTER_PORT=29500  # in each rank; srun --mpi=pmix can be asked"}};
    }
  return {{"launcher", Verdict::ok, "none started this process: torchrun --nproc-per-node N PROGRAM does, rondo-bench -n N starts its own ranks", ""}};
}

}  // namespace

std::map<std::string, std::string> variables_of_interest(const std::map<std::string, std::string>& environment) {
  Environment chosen;
  const auto job = job_variables();
  for (const auto& entry : environment) {
    const std::string& name = entry.first;  // clang before version 16 lets no lambda have a part of a binding
    const auto has_prefix = [&](const Foreign& foreign) { return name.starts_with(foreign.prefix); };
    const auto is_launchers = [&](const ForeignLauncher& launcher) {
      return name == launcher.rank || name == launcher.size || name == launcher.way;
    };
    if (name.starts_with(own_prefix) || std::find(job.begin(), job.end(), name) != job.end() ||
        std::any_of(foreign_variables.begin(), foreign_variables.end(), has_prefix) ||
        std::any_of(foreign_launchers.begin(), foreign_launchers.end(), is_launchers))
      chosen.insert(entry);
  }
  return chosen;
}

Findings check_settings(const MachineFacts& facts) {
  Findings findings;
  for (const auto& [name, value] : facts.environment)
    if (name.starts_with(own_prefix)) findings.push_back(judge_setting(name, value, facts));
  if (findings.empty()) findings.push_back({"settings", Verdict::ok, "no RONDO_ variable is set: all is at its default", ""});
  return findings;
}

Findings check_launcher(const MachineFacts& facts) {
  if (!is_set(facts.environment, "RANK") && !is_set(facts.environment, "WORLD_SIZE")) return judge_foreign_launcher(facts.environment);
  const auto job = parse_job_environment(facts.environment);
  const std::string leave = "unset" + set_job_variables(facts.environment) + "  # or let torchrun --nproc-per-node N PROGRAM set all of them";
  if (!job) return {{"launcher", Verdict::problem, "the environment describes a job that no rank can join: " + job.error().detail, leave}};
  const std::string place = "rank " + std::to_string(job->rank) + " of " + std::to_string(job->size);
  if (job->several_machines) {
    const std::string way = job->agent_store ? "they find one another through torchrun's store at " : "they meet at ";
    const std::string meets = place + ", perhaps on several machines: " + way + job->master_address + ":" + std::to_string(job->master_port);
    if (is_set(facts.environment, "RONDO_JOB_KEY_FILE")) return {{"launcher", Verdict::ok, meets, ""}};
    return {{"launcher", Verdict::note, meets + ", without a key, so that whoever reaches that port can join",
             "(umask 077; openssl rand -hex 32 > job.key); export RONDO_JOB_KEY_FILE=$PWD/job.key  # the same file on every machine"}};
  }
  if (const std::uint32_t usable = usable_processors(facts); job->local_size > usable)
    return {{"launcher", Verdict::note, place + ", but " + counted(usable, "usable processor") + ": ranks yield to one another instead of spinning",
             "torchrun --nproc-per-node " + std::to_string(usable) + " PROGRAM"}};
  return {{"launcher", Verdict::ok, place, ""}};
}

Findings check_foreign_variables(const MachineFacts& facts) {
  Findings findings;
  for (const Foreign& foreign : foreign_variables) {
    std::string names;
    for (const auto& [name, value] : facts.environment)
      if (name.starts_with(foreign.prefix)) names += " " + name;
    if (!names.empty()) findings.push_back({foreign.check, Verdict::note, names.substr(1) + ": " + foreign.effect, "unset" + names});
  }
  return findings;
}

}  // namespace rondo::doctor
