#include "communicator/meet.hpp"

#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "bootstrap/address_text.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/network.hpp"
#include "bootstrap/own_address.hpp"
#include "bootstrap/unique_id.hpp"
#include "rondo/topology.hpp"

namespace rondo {
namespace {

/// torchrun's own store listens on MASTER_PORT; the restart count keeps generations apart.
std::string name_of(const JobEnvironment& job) {
  return std::to_string(job.master_port) + "/" + job.run_id + "/" + std::to_string(job.restart_count);
}

/// The key of this process's configuration; null: there is none. An error where the user requires one, unless it isn't `wanted`: the launcher's way
/// between the ranks, which an id went, takes no key to trust.
Result<std::optional<JobKey>> configured_key(bool wanted = true) {
  const auto& set = config();
  if (!set) return set.error();
  if (set->job_key_file.empty() && set->require_job_key && wanted)
    return Error{Errc::invalid_argument, "RONDO_REQUIRE_JOB_KEY is 1, and RONDO_JOB_KEY_FILE names no key for ranks on several machines", 0, "bootstrap"};
  if (set->job_key_file.empty()) return std::optional<JobKey>();
  auto key = read_job_key(set->job_key_file);
  if (!key) return key.error();
  return std::optional<JobKey>(*key);
}

/// Once a process: groups are made again and again.
void warn_of_a_public_id() {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true, std::memory_order_relaxed))
    log_warn("this job has no key (RONDO_JOB_KEY_FILE): whoever read its unique id on the way to the ranks could have joined");
}

void warn_of_no_key(const JobEnvironment& job) {
  log_warn("this job has no key (RONDO_JOB_KEY_FILE): whoever reaches " + job.master_address + ":" + std::to_string(job.master_port) +
           " can join it or end it");
}

/// Where every rank is and a name that nobody else knows, from rank 0; the name is empty where they aren't all on one machine.
Result<std::string> common_name(Bootstrap& bootstrap, std::int64_t deadline_ns) {
  auto host = host_identity();
  if (!host) return host.error();
  const std::string place = *host + " of user " + std::to_string(getuid());  // others' processes may not hand memory to this one's
  auto all = bootstrap.all_gather(address_of(place + "\n" + hex_of(fresh_nonce())), deadline_ns);
  if (!all) return all.error();
  std::string name;
  for (const Address& told : all->all()) {
    const std::string text = text_of(told);
    const std::size_t end = text.find('\n');
    if (end == std::string::npos || text.compare(0, end, place) != 0) return std::string();
    if (name.empty()) name = text.substr(end + 1);
  }
  return name;
}

/// Over TCP; and once more over a UNIX socket where that turns out to do.
Result<std::unique_ptr<Bootstrap>> meet_at(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, std::int64_t deadline_ns,
                                           const StaysAway& stays_away, Fd listener) {
  auto bootstrap = make_network_bootstrap(rank, size, place, deadline_ns, stays_away, std::move(listener));
  if (!bootstrap || size == 1) return bootstrap;
  const auto name = common_name(**bootstrap, deadline_ns);
  if (!name) return name.error();
  if (name->empty()) return bootstrap;
  return make_local_bootstrap(rank, size, *name, deadline_ns, stays_away);
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> meet(const JobEnvironment& job, std::int64_t deadline_ns, const StaysAway& stays_away) {
  if (!job.several_machines) return make_local_bootstrap(job.rank, job.size, name_of(job), deadline_ns, stays_away);
  if (job.agent_store) {
    auto store = find_agent_store(job, deadline_ns);
    return store ? meet_through(**store, deadline_ns, stays_away) : Result<std::unique_ptr<Bootstrap>>(store.error());
  }
  const auto key = configured_key();
  if (!key) return key.error();
  if (!*key && job.rank == 0) warn_of_no_key(job);
  return meet_at(job.rank, job.size, {job.master_address, job.master_port, name_of(job), key->value_or(JobKey())}, deadline_ns, stays_away, {});
}

Result<std::string> fresh_unique_id() {
  const auto& set = config();
  if (!set) return set.error();
  const Environment environment = read_environment();
  const auto master = environment.find("MASTER_ADDR");
  const auto address = chosen_address([&] { return likely_address(master == environment.end() ? "" : master->second); });
  return address ? make_unique_id(*address) : address.error();
}

Result<std::unique_ptr<Bootstrap>> meet_through(Launcher& launcher, std::int64_t deadline_ns, const StaysAway& stays_away) {
  auto own = launcher.rank == 0 ? fresh_unique_id() : Result<std::string>(std::string());
  // A rank 0 that can't listen says so.
  const auto id = launcher.share(own ? *own : no_unique_id, deadline_ns);
  if (!own) return own.error();
  if (!id) return id.error();
  if (*id == no_unique_id) return Error{Errc::peer_failed, "rank 0 could not listen for the others; its own error says why", 0, "bootstrap"};
  const auto key = configured_key(!launcher.is_private());
  if (!key) return key.error();
  if (!launcher.is_private() && launcher.rank == 0 && !*key) warn_of_a_public_id();
  const auto place = place_of_unique_id(*id, *key);
  if (!place) return place.error();
  return meet_at(launcher.rank, launcher.size, *place, deadline_ns, stays_away, take_listener(*id));
}

Result<std::unique_ptr<Bootstrap>> meet_by_id(std::uint32_t rank, std::uint32_t size, const std::string& id, std::int64_t deadline_ns,
                                              const StaysAway& stays_away, Given given) {
  const auto key = given == Given::somehow ? configured_key() : Result<std::optional<JobKey>>(std::nullopt);
  if (!key) return key.error();
  const auto place = place_of_unique_id(id, *key);
  if (!place) return place.error();
  Fd listener = rank == 0 ? take_listener(id) : Fd();  // rank 0 may be another thread of this process
  if (rank == 0 && !listener)
    return Error{Errc::invalid_argument, "rank 0's process didn't make this unique id, or has used it before; each communicator needs one of its own", 0,
                 "bootstrap"};
  auto bootstrap = meet_at(rank, size, *place, deadline_ns, stays_away, std::move(listener));
  if (bootstrap && rank == 0 && given == Given::somehow && !*key && !(*bootstrap)->passes_descriptors()) warn_of_a_public_id();
  return bootstrap;
}

}  // namespace rondo
