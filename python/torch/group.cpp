#include "group.hpp"

#include "processes.hpp"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <vector>

namespace rondo_torch {

struct Group::Joined {
  rondo_communicator* communicator = nullptr;
  std::string failure;
  rondo_status status = RONDO_SUCCESS;
  std::mutex mutex;
  bool closed = false;  ///< nobody wants the communicator any more

  // Of the thread that joins, set before it runs.
  std::atomic<bool> given_up{false};           ///< nobody waits for the ranks any more
  std::shared_ptr<const Processes> processes;  ///< of the ranks that first met
  std::vector<std::int64_t> numbers;           ///< by rank: the rank among those; empty: the same
  bool never_comes(std::uint32_t rank) const {
    if (given_up) return true;
    return processes != nullptr && processes->ended(rank < numbers.size() ? static_cast<std::uint32_t>(numbers[rank]) : rank);
  }
};

namespace {

constexpr std::chrono::seconds longest_drain(10);

/// What the default group's ranks agreed on. Where they are on one machine, groups within it need no store to find one another: their names are derived
/// from this.
struct World {
  std::mutex mutex;
  std::string nonce;                         ///< empty: there is no default group, or it is on several machines
  std::shared_ptr<const Processes> processes;
  std::vector<std::int64_t> ranks;            ///< by rank: the number among these; empty: the same
  std::map<std::string, std::uint64_t> made;  ///< groups of each name so far: ranks make them in the same order

  /// From here on; to be called with the mutex.
  void begin(const std::string& new_nonce, std::shared_ptr<const Processes> new_processes, std::vector<std::int64_t> new_ranks) {
    nonce = new_nonce;
    processes = std::move(new_processes);
    ranks = std::move(new_ranks);
    made.clear();
  }
};

World& world() {
  static World only;
  return only;
}

/// Processes that say the same can share memory: one kernel, one network namespace (which has the sockets' names), one user.
std::string machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/ns/net", space, sizeof space - 1);
  char host[256] = "unknown";
  (void)gethostname(host, sizeof host - 1);
  return boot + "/" + std::string(space, length > 0 ? static_cast<std::size_t>(length) : 0) + "/" + std::to_string(getuid()) + "\n" + host;
}

std::string fresh_nonce() {
  std::random_device device;
  std::string text;
  for (int word = 0; word < 4; ++word) text += std::to_string(device()) + ".";
  return text + std::to_string(getpid());
}

/// What ranks agreed on that met: a text that they share, and no others, and who they are.
struct Meeting {
  std::string nonce;
  bool by_id = false;     ///< they are on several machines, and the text is a unique id of the library's
  std::shared_ptr<const Processes> processes;
  std::vector<std::int64_t> ranks;  ///< by rank: the number among these; empty: the same
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// For ranks on several machines: rank 0 listens, and tells the others where, with a key.
std::string fresh_id() {
  rondo_unique_id id{};
  if (const rondo_status status = rondo_get_unique_id(&id); status != RONDO_SUCCESS) throw_failure(status, "a group on several machines");
  return id.text;
}

/// All ranks say through the store where they are, and rank 0 names the job. A store may have been used before by a group of the same name: its
/// ranks count their groups. `purpose`: of several meetings of one group.
Meeting meet(const GroupOptions& options, const std::string& purpose = "") {
  const auto bytes = [](const std::string& text) { return std::vector<std::uint8_t>(text.begin(), text.end()); };
  const std::string prefix = "rondo/" + (purpose.empty() ? "" : purpose + "/");
  const auto key = [&](std::int64_t count, std::uint32_t rank) { return prefix + std::to_string(count) + "/" + std::to_string(rank); };
  c10d::Store& store = *options.store;
  const std::int64_t count = store.add(prefix + "made/" + std::to_string(options.rank), 1);
  const std::vector<std::string> here = lines_of(machine());  // and the host
  store.set(key(count, options.rank), bytes(here[0] + "\n" + here[1] + "\n" + Processes::own() + "\n" + (options.rank == 0 ? fresh_nonce() : "-")));
  Meeting meeting;
  std::vector<std::string> processes;
  for (std::uint32_t rank = 0; rank < options.size; ++rank) {
    const auto said = store.get(key(count, rank));
    const std::vector<std::string> lines = lines_of(std::string(said.begin(), said.end()));
    TORCH_CHECK_WITH(DistBackendError, lines.size() == 4, "rondo: rank ", rank, " wrote nonsense into the store");
    const bool is_here = lines[0] == here[0];
    meeting.by_id |= !is_here;
    processes.push_back(is_here ? lines[2] : "");
    if (rank == 0) meeting.nonce = lines[3];
  }
  meeting.processes = std::make_shared<const Processes>(processes);
  if (!meeting.by_id) return meeting;
  const std::string of_id = key(count, options.size);
  if (options.rank == 0) store.set(of_id, bytes(fresh_id()));
  const auto said = store.get(of_id);
  meeting.nonce.assign(said.begin(), said.end());
  return meeting;
}

/// Of ranks of a group their numbers among its processes.
std::vector<std::int64_t> numbers_of(const std::vector<std::int64_t>& ranks, const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> of_ranks;
  for (const std::int64_t rank : ranks) of_ranks.push_back(numbers.empty() ? rank : numbers.at(static_cast<std::size_t>(rank)));
  return of_ranks;
}

/// What the ranks of this group share, and no other group.
Meeting job_of(const GroupOptions& options) {
  if (!options.is_world && !options.name.empty()) {
    const std::lock_guard lock(world().mutex);
    if (!world().nonce.empty())
      return {world().nonce + "/" + options.name + "/" + std::to_string(++world().made[options.name]), false, world().processes,
              numbers_of(options.global_ranks, world().ranks)};
  }
  Meeting meeting = meet(options);
  if (options.is_world && !meeting.by_id) {
    const std::lock_guard lock(world().mutex);
    world().begin(meeting.nonce, meeting.processes, {});
  }
  return meeting;
}

/// The groups there are.
struct Groups {
  std::mutex mutex;
  std::set<Group*> all;
};

Groups& groups() {
  static Groups* const only = new Groups;  // never destroyed: the interpreter may leave groups behind
  return *only;
}

}  // namespace

void InFlight::add() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void InFlight::remove() {
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) changed_.notify_all();
}

bool InFlight::drain(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return count_ == 0; });
}

void throw_failure(rondo_status status, const std::string& what) {
  // programs look for the word
  const std::string text = "rondo: " + what + (status == RONDO_DEADLINE_EXCEEDED ? ": timeout (" + std::string(rondo_last_error()) + ")"
                                                                                  : ": " + std::string(rondo_last_error()));
  if (status == RONDO_INVALID_ARGUMENT) C10_THROW_ERROR(ValueError, text);
  if (status == RONDO_UNSUPPORTED) C10_THROW_ERROR(NotImplementedError, text);
  C10_THROW_ERROR(DistBackendError, text);
}

Group::Group(const GroupOptions& options)
    : joined_(std::make_shared<Joined>()), rank_(options.rank), size_(options.size), timeout_(options.timeout) {
  const Meeting meeting = job_of(options);
  job_ = meeting.nonce;
  by_id_ = meeting.by_id;
  if (by_id_) options_ = options;
  if (options.is_world && !by_id_) world_ = meeting.nonce;
  joined_->processes = meeting.processes;
  joined_->numbers = meeting.ranks;
  join(options.is_world);
}

Group::Group(const Group& of, const std::string& name)
    : joined_(std::make_shared<Joined>()), rank_(of.rank_), size_(of.size_), timeout_(of.timeout_), options_(of.options_), job_(of.job_ + "/" + name),
      by_id_(of.by_id_) {
  if (by_id_) job_ = meet(options_, name).nonce;
  joined_->processes = of.joined_->processes;
  joined_->numbers = of.joined_->numbers;
  join(false);
}

Group::Group(const Group& of, std::uint32_t peer)
    : joined_(std::make_shared<Joined>()), rank_(of.rank_ < peer ? 0 : 1), size_(2), timeout_(of.timeout_), options_(of.options_), by_id_(of.by_id_) {
  const auto [lower, higher] = std::minmax(of.rank_, peer);
  const std::string name = "pair/" + std::to_string(lower) + "-" + std::to_string(higher);
  if (by_id_) {
    options_.rank = rank_;
    options_.size = size_;
    options_.store = c10::make_intrusive<c10d::PrefixStore>("rondo/" + name, of.options_.store);  // ranks have other numbers there
  }
  job_ = by_id_ ? meet(options_).nonce : of.job_ + "/" + name;
  joined_->processes = of.joined_->processes;
  joined_->numbers = numbers_of({lower, higher}, of.joined_->numbers);
  join(false);
}

void Group::join(bool at_once) {
  const auto create = [joined = joined_, rank = rank_, size = size_, timeout = timeout_, job = job_, by_id = by_id_] {
    rondo_options choices{};
    choices.size = sizeof choices;
    choices.timeout_seconds = choices.bootstrap_timeout_seconds = std::chrono::duration<double>(timeout).count();
    choices.context = joined.get();
    choices.stays_away = [](void* context, std::uint32_t asked) { return static_cast<const Joined*>(context)->never_comes(asked) ? 1 : 0; };
    rondo_communicator* made = nullptr;
    rondo_unique_id id{};
    if (by_id) job.copy(id.text, sizeof id.text - 1);
    const rondo_status status = by_id ? rondo_create_by_id(rank, size, &id, &choices, &made)
                                      : rondo_create_local_with_options(rank, size, job.c_str(), &choices, &made);
    const std::lock_guard lock(joined->mutex);
    joined->status = status;
    if (status != RONDO_SUCCESS) joined->failure = rondo_last_error();
    else if (joined->closed) rondo_destroy(made);
    else joined->communicator = made;
  };
  auto task = std::make_shared<std::packaged_task<void()>>(create);
  ready_ = task->get_future().share();
  if (at_once) {
    (*task)();
    (void)communicator();
  } else {
    std::thread([task] { (*task)(); }).detach();
  }
  enlist();
}

Group::Group(const Group& of, Left left)
    : joined_(std::make_shared<Joined>()), rank_(left.place_of(of.rank_)), size_(static_cast<std::uint32_t>(left.ranks.size())), timeout_(of.timeout_),
      options_(of.options_), job_(of.job_ + "/left"), by_id_(of.by_id_) {
  joined_->communicator = left.communicator;
  joined_->processes = of.joined_->processes;
  joined_->numbers = numbers_of(left.ranks, of.joined_->numbers);
  std::promise<void> made;
  made.set_value();
  ready_ = made.get_future().share();
  if (by_id_) {
    options_.rank = rank_;
    options_.size = size_;
    options_.store = c10::make_intrusive<c10d::PrefixStore>("rondo/left/" + c10::str(left.ranks), of.options_.store);  // ranks have other numbers there
  } else if (!of.world_.empty()) {
    world_ = job_;
    const std::lock_guard lock(world().mutex);
    world().begin(world_, joined_->processes, joined_->numbers);
  }
  enlist();
}

void Group::enlist() {
  const std::lock_guard lock(groups().mutex);
  groups().all.insert(this);
}

bool Group::Left::has(std::int64_t rank) const { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }

std::uint32_t Group::Left::place_of(std::int64_t rank) const {
  return static_cast<std::uint32_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

Group::Left Group::shrink() {
  Left left;
  if (const rondo_status status = rondo_shrink(communicator(), &left.communicator); status != RONDO_SUCCESS) throw_failure(status, "shrink");
  std::uint32_t size = 0;
  (void)rondo_size(left.communicator, &size);
  std::vector<std::uint32_t> ranks(size);
  (void)rondo_parent_ranks(left.communicator, ranks.data());
  left.ranks.assign(ranks.begin(), ranks.end());
  return left;
}

Group::~Group() {
  {
    const std::lock_guard lock(groups().mutex);
    groups().all.erase(this);
  }
  close();
}

void Group::give_up_unfinished() {
  const std::lock_guard lock(groups().mutex);
  for (Group* const group : groups().all) {
    if (group->in_flight_->drain(std::chrono::milliseconds(0))) continue;
    group->abort();
    (void)group->in_flight_->drain(longest_drain);
  }
}

rondo_communicator* Group::communicator(const CallId& id) {
  if (rondo_communicator* known = communicator_.load(std::memory_order_acquire)) return known;
  ready_.wait();
  const std::lock_guard lock(joined_->mutex);
  const auto refuse = [&](const std::string& reason) {
    C10_THROW_ERROR(DistBackendError, id.kind == nullptr ? "rondo: " + reason : c10::str("rondo: ", id, ": ", reason));
  };
  if (joined_->closed) refuse("this process group was destroyed");
  if (joined_->given_up) refuse("this process group was aborted before its ranks had found one another");
  if (joined_->status != RONDO_SUCCESS) refuse("the group's ranks could not find one another: " + joined_->failure);
  communicator_.store(joined_->communicator, std::memory_order_release);
  return joined_->communicator;
}

void Group::set_timeout(std::chrono::milliseconds timeout) {
  const rondo_status status = rondo_set_timeout(communicator(), std::chrono::duration<double>(timeout).count());
  if (status != RONDO_SUCCESS) throw_failure(status, "set_timeout");
  timeout_ = timeout;
}

void Group::abort() {
  aborted_ = true;
  const std::lock_guard lock(joined_->mutex);
  if (joined_->communicator != nullptr) (void)rondo_abort(joined_->communicator);
  else joined_->given_up = true;
}

void Group::close() {
  if (!aborted_) (void)ready_.wait_for(longest_drain);  // the others can't join a group that this rank has left
  if (!in_flight_->drain(longest_drain)) {
    abort();
    (void)in_flight_->drain(longest_drain);
  }
  rondo_communicator* left = nullptr;
  {
    const std::lock_guard lock(joined_->mutex);
    if (joined_->closed) return;
    joined_->closed = true;
    left = std::exchange(joined_->communicator, nullptr);
    communicator_.store(nullptr, std::memory_order_release);
  }
  rondo_destroy(left);
  const std::lock_guard lock(world().mutex);
  if (world_.empty() || world().nonce != world_) return;
  world().begin("", nullptr, {});
}

}  // namespace rondo_torch
