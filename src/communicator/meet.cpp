#include "communicator/meet.hpp"

#include <cstring>
#include <string>

#include "base/log.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/network.hpp"
#include "rondo/topology.hpp"

namespace rondo {
namespace {

constexpr char hex[] = "0123456789abcdef";

/// torchrun's own store listens on MASTER_PORT; the restart count keeps generations apart.
std::string name_of(const JobEnvironment& job) {
  return std::to_string(job.master_port) + "/" + job.run_id + "/" + std::to_string(job.restart_count);
}

Address address_of(const std::string& text) {
  Address address;
  address.bytes.resize(text.size());
  std::memcpy(address.bytes.data(), text.data(), text.size());
  return address;
}

std::string text_of(const Address& address) { return {reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size()}; }

std::string fresh_name() {
  std::string name;
  for (const unsigned char byte : fresh_nonce()) name += {hex[byte >> 4], hex[byte & 15]};
  return name;
}

/// The key of this process's configuration. None: said once, by rank 0.
Result<JobKey> job_key(const JobEnvironment& job) {
  const auto& set = config();
  if (!set) return set.error();
  if (!set->job_key_file.empty()) return read_job_key(set->job_key_file);
  if (set->require_job_key)
    return Error{Errc::invalid_argument, "RONDO_REQUIRE_JOB_KEY is 1, and RONDO_JOB_KEY_FILE names no key for ranks on several machines", 0, "bootstrap"};
  if (job.rank == 0)
    log_warn("this job has no key (RONDO_JOB_KEY_FILE): whoever reaches " + job.master_address + ":" + std::to_string(job.master_port) +
             " can join it or end it");
  return JobKey();
}

/// Where every rank is and a name that nobody else knows, from rank 0; the name is empty where they aren't all on one machine.
Result<std::string> common_name(Bootstrap& bootstrap, std::int64_t deadline_ns) {
  auto host = host_identity();
  if (!host) return host.error();
  auto all = bootstrap.all_gather(address_of(*host + "\n" + fresh_name()), deadline_ns);
  if (!all) return all.error();
  std::string name;
  for (const Address& told : all->all()) {
    const std::string text = text_of(told);
    const std::size_t end = text.find('\n');
    if (end == std::string::npos || text.compare(0, end, *host) != 0) return std::string();
    if (name.empty()) name = text.substr(end + 1);
  }
  return name;
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> meet(const JobEnvironment& job, std::int64_t deadline_ns, const StaysAway& stays_away) {
  if (!job.several_machines) return make_local_bootstrap(job.rank, job.size, name_of(job), deadline_ns, stays_away);
  auto key = job_key(job);
  if (!key) return key.error();
  const MeetingPlace place{job.master_address, job.master_port, name_of(job), *key};
  auto bootstrap = make_network_bootstrap(job.rank, job.size, place, deadline_ns, stays_away);
  if (!bootstrap || job.size == 1) return bootstrap;
  const auto name = common_name(**bootstrap, deadline_ns);
  if (!name) return name.error();
  if (name->empty()) return bootstrap;
  return make_local_bootstrap(job.rank, job.size, *name, deadline_ns, stays_away);
}

}  // namespace rondo
