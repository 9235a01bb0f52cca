#include "crash_trial.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "communicator/create.hpp"
#include "rondo/communicator.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/shared.hpp"

namespace crash {
namespace {

using namespace rondo;

constexpr auto most_time = std::chrono::seconds(20);  // of a call whose wait nothing ends
constexpr int most_seconds = 60;
constexpr std::chrono::milliseconds usual_patience{20'000}, unheard_patience{1000};  // in creations that all live through, and where nobody hears of the victim
constexpr int enough_wrong = 3;  // lives that went wrong: one in which all hang takes a minute
constexpr std::uint64_t first_steps = 200;
constexpr std::uint64_t steps_of_a_try = 4;  // to reach rank 0, which may have a name already and not listen yet
constexpr int repeats = 2;
constexpr std::uint64_t pattern_length = 16;

float* shared_floats(std::uint64_t bytes) {
  return static_cast<float*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
}

Result<void> wrong(const std::string& what) { return Error{Errc::io, what + " was returned as right"}; }

/// Whether element i is factor · (i % pattern_length).
bool has_pattern(const float* values, std::uint64_t count, float factor) {
  std::uint64_t bad = 0;
  for (std::uint64_t i = 0; i < count; ++i) bad += values[i] != factor * static_cast<float>(i % pattern_length);
  return bad == 0;
}

/// One rank's life in parts. Each returns its first error.
class Life {
 public:
  Life(const CrashTrial& trial, std::uint32_t rank) : stage_(trial.stage), rank_(rank), patience_(trial.patience) {}

  Result<void> create(const std::string& job) {
    CommunicatorOptions options;
    options.bootstrap_timeout = patience_;
    options.timeout = most_time;
    auto bootstrap = make_local_bootstrap(rank_, ranks, job, now_ns() + options.bootstrap_timeout.count());
    if (!bootstrap) return bootstrap.error();
    auto parts = join(**bootstrap, rank_, ranks, options, stage_.view(), 1);
    if (!parts) return parts.error();
    communicator_ = Assembly::of(std::move(*parts));
    return {};
  }

  Result<void> call() {
    Result<void> done;
    for (int i = 0; done && i < repeats; ++i) done = reduce(*communicator_);
    return done;
  }

  Result<void> part() {
    auto other = communicator_->split(0);
    if (!other) return other.error();
    auto done = reduce(**other);
    return done ? communicator_->barrier() : done;
  }

  Result<void> send_on() {
    clear();
    const std::uint32_t from = (rank_ + ranks - 1) % ranks;
    if (auto done = around_the_ring(*communicator_, stage_.input(rank_), stage_.output(rank_), stage_.count()); !done) return done;
    return has_pattern(stage_.output(rank_), stage_.count(), static_cast<float>(from + 1)) ? Result<void>() : wrong("a wrong message");
  }

  Result<void> leave() {
    communicator_.reset();
    return {};
  }

 private:
  void clear() { std::memset(stage_.output(rank_), 0xff, stage_.bytes()); }

  Result<void> reduce(Communicator& communicator) {
    clear();
    if (auto done = communicator.all_reduce(stage_.input(rank_), stage_.output(rank_), stage_.count(), DataType::f32); !done) return done;
    return has_pattern(stage_.output(rank_), stage_.count(), ranks * (ranks + 1) / 2) ? Result<void>() : wrong("a wrong sum");
  }

  const Stage& stage_;
  std::uint32_t rank_;
  std::chrono::milliseconds patience_;
  std::optional<Communicator> communicator_;
};

Result<void> run_parts(Life& life, const std::string& job, const std::function<void(int)>& pass) {
  Result<void> done;
  for (int part = creation; done && part < parts_end; ++part) {
    pass(part);
    switch (part) {
      case creation: done = life.create(job); break;
      case calls: done = life.call(); break;
      case splitting: done = life.part(); break;
      case messages: done = life.send_on(); break;
      default: done = life.leave(); break;
    }
  }
  return done;
}

using Possessions = std::multiset<std::string>;

/// What a process has that a communicator may leave behind: open descriptors and shared maps. The watcher's own set of them stays.
Possessions possessions() {
  Possessions all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the folder's own
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target != "anon_inode:[eventpoll]" && target.find("/fd") == std::string::npos) all.insert(target);
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const auto words = line.find(' '); line.substr(words + 1, 4).back() == 's') all.insert(line);
  return all;
}

/// "" when there is nothing of it that wasn't there before, and nothing gone.
std::string changes_since(const Possessions& before) {
  const Possessions now = possessions();
  std::vector<std::string> more, less;
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::back_inserter(more));
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(less));
  std::string text;
  for (const std::string& each : more) text += "left behind: " + each + "\n";
  for (const std::string& each : less) text += "gone: " + each + "\n";
  return text;
}

/// Until rank 0 listens, so that a victim doesn't spend its first calls on looking for it.
void await_listener(const std::string& job) {
  for (int tries = 0; tries < 5000; ++tries) {
    std::ifstream sockets("/proc/net/unix");
    if (const std::string all{std::istreambuf_iterator<char>(sockets), {}}; all.find(job + "\n") != std::string::npos) return;
    usleep(1000);
  }
}

void note_worst(Tally& tally, std::int64_t ns) {
  std::int64_t worst = tally.worst_ns;
  while (ns > worst && !tally.worst_ns.compare_exchange_weak(worst, ns)) {
  }
}

std::string in_milliseconds(std::int64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; }

/// What is wrong with a survivor's first error, which came `passed_ns` after the death.
std::string judge(const CrashTrial& trial, const Error& error, std::int64_t passed_ns) {
  const std::string text = to_string(error), name = "rank " + std::to_string(trial.victim);
  if (!trial.death.has_come()) return "nobody has died yet: " + text;
  if (text.find(name + " ") == std::string::npos) return "'" + name + " ' is missing in: " + text;
  // Rank 0 may have been heard by one of the two alone.
  const bool may_be_unheard = trial.victim == 0 || !trial.was_heard();
  if (error.code == Errc::deadline_exceeded && may_be_unheard && text.find("no sign of " + name) != std::string::npos) {
    ++trial.tally.unheard;
    return passed_ns < death_bound_ns + std::chrono::nanoseconds(trial.patience).count() ? "" : "took " + in_milliseconds(passed_ns) + ": " + text;
  }
  if (error.code != Errc::peer_failed) return "expected peer_failed, got " + text;
  ++trial.tally.errors;
  note_worst(trial.tally, passed_ns);
  return passed_ns < death_bound_ns ? "" : "took " + in_milliseconds(passed_ns) + ": " + text;
}

/// The survivors among themselves, in the order of their ranks.
std::string begin_anew(const Stage& stage, std::uint32_t rank, std::uint32_t victim, const std::string& job) {
  const std::uint32_t new_rank = rank < victim ? rank : rank - 1;
  auto bootstrap = make_local_bootstrap(new_rank, ranks - 1, job, now_ns() + 20'000'000'000);
  if (!bootstrap) return "new communicator: " + to_string(bootstrap.error());
  auto parts = join(**bootstrap, new_rank, ranks - 1, CommunicatorOptions(), stage.view(), 1);
  if (!parts) return "new communicator: " + to_string(parts.error());
  Communicator communicator = Assembly::of(std::move(*parts));
  std::vector<float> values(1000, static_cast<float>(new_rank + 1));
  const auto done = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32);
  if (!done) return "new communicator: " + to_string(done.error());
  return values == std::vector<float>(1000, 3) ? "" : "the new communicator's sum is wrong";
}

/// A survivor: "" when it is as kill_at_each() says.
std::string survive(const CrashTrial& trial, std::uint32_t rank, const std::string& job, const std::string& next_job) {
  const Possessions before = possessions();
  int part = 0;
  std::string answer;
  std::int64_t ended_ns = 0;
  {
    Life life(trial, rank);
    const auto done = run_parts(life, job, [&](int passed) { part = passed; });
    ended_ns = now_ns();
    const std::int64_t passed_ns = trial.death.has_come() ? trial.death.passed_ns() : 0;  // a survivor that ends well may end first
    if (!done) answer = judge(trial, done.error(), passed_ns);
    else ++trial.tally.ends;
    if (done && passed_ns > death_bound_ns) answer = "went on for " + in_milliseconds(passed_ns);
    if (!answer.empty()) answer = std::string("in its ") + name_of(part) + ": " + answer;
  }
  if (!answer.empty()) return answer;
  if (const std::int64_t leaving_ns = now_ns() - ended_ns; leaving_ns > death_bound_ns) return "leaving took " + in_milliseconds(leaving_ns);
  if (answer = begin_anew(trial.stage, rank, trial.victim, next_job); !answer.empty()) return answer;
  return changes_since(before);
}

/// All three ranks of one life.
std::string run(const CrashTrial& trial, const WayToDie& way, Moment moment, Followed& followed) {
  const std::string job = fresh_job(), next_job = fresh_job();
  std::vector<ChildBody> bodies;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    bodies.push_back([&, rank] { return rank == trial.victim ? way(trial, job, moment, followed) : survive(trial, rank, job, next_job); });
  auto answers = run_children(bodies, most_seconds);
  if (answers[trial.victim] == "ended by signal 9") answers[trial.victim] = "";
  ++(trial.death.has_come() ? trial.tally.kills : trial.tally.lives);
  return complaints(answers);
}

std::string try_one(const Stage& stage, std::uint32_t victim, const WayToDie& way, Moment moment, std::chrono::milliseconds patience, Followed& followed,
                    Tally& tally) {
  const Death death;
  const CrashTrial trial{stage, death, victim, [&] { return followed.heard_after != 0; }, patience, tally};
  const std::string answer = run(trial, way, moment, followed);
  if (answer.empty()) return "";
  const std::string where = moment.number == 0 ? ", not killed" : " killed at " + std::to_string(moment.number) + " of its " + name_of(moment.mark);
  return std::to_string(stage.bytes()) + " B, rank " + std::to_string(victim) + where + ", " + followed.place + ":\n" + answer;
}

std::vector<std::uint64_t> chosen(std::uint64_t steps, Choice choice) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t step = 1 + choice.offset % choice.stride; step <= steps; step += step < first_steps ? choice.stride : step / 16 * choice.stride)
    all.push_back(step);
  return all;
}

}  // namespace

const char* name_of(int part) {
  constexpr const char* names[] = {"", "creation", "calls", "splitting", "messages", "farewell"};
  return names[part];
}

Stage::Stage(std::uint64_t bytes) : bytes_(bytes), view_(*discover_topology()) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    inputs_[rank] = shared_floats(bytes);
    outputs_[rank] = shared_floats(bytes);
    for (std::uint64_t i = 0; i < count(); ++i) inputs_[rank][i] = static_cast<float>((rank + 1) * (i % pattern_length));
  }
}

Stage::~Stage() {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    munmap(inputs_[rank], bytes_);
    munmap(outputs_[rank], bytes_);
  }
}

std::uint64_t Stage::count() const { return bytes_ / sizeof(float); }

std::string describe(const Tally& tally) {
  return std::to_string(tally.kills) + " kills, " + std::to_string(tally.lives) + " lives to their end; survivors: " + std::to_string(tally.errors) +
         " errors that name the rank, the last " + in_milliseconds(tally.worst_ns) + " after the death, " + std::to_string(tally.unheard) +
         " that missed one nobody had heard of, " + std::to_string(tally.ends) + " ended well; a whole life has " + std::to_string(tally.longest) + " steps";
}

std::string live(const CrashTrial& trial, const std::string& job, const std::function<void(int)>& pass) {
  Life life(trial, trial.victim);
  if (trial.victim != 0) await_listener(job);
  const auto done = run_parts(life, job, pass);
  pass(0);
  return done ? "" : "the victim itself: " + to_string(done.error());
}

std::string kill_at_each(const Stage& stage, std::uint32_t victim, const WayToDie& way, Choice choice, Tally& tally) {
  const Shared<Followed> whole;
  if (const std::string wrong = try_one(stage, victim, way, Moment{}, usual_patience, *whole, tally); !wrong.empty()) return wrong;
  std::uint64_t length = 0;
  for (const auto& steps : whole->steps) length += steps;
  tally.longest = std::max(tally.longest, length);
  std::string all;
  int bad = 0;
  for (int part = creation; part < parts_end; ++part)
    for (const std::uint64_t step : chosen(whole->steps[part], choice)) {
      const Shared<Followed> followed;
      const bool unheard = part == creation && step <= whole->heard_after + steps_of_a_try;
      const std::string wrong = try_one(stage, victim, way, Moment{part, step}, unheard ? unheard_patience : usual_patience, *followed, tally);
      all += wrong;
      if (!wrong.empty() && ++bad == enough_wrong) return all + "and so on";
    }
  return all;
}

std::uint64_t kill_all(const WayToDie& way, const char* steps, std::uint64_t bytes, std::uint64_t stride, std::uint64_t others_stride) {
  const auto offset = static_cast<std::uint64_t>(now_ns() / 1'000'000);  // another one each time: in the long run all steps are tried
  const Stage stage(bytes);
  const Shared<Tally> tally;
  CHECK(kill_at_each(stage, 1, way, {stride, offset}, *tally) == "");
  CHECK(kill_at_each(stage, 0, way, {others_stride, offset}, *tally) == "");
  CHECK(kill_at_each(stage, 2, way, {others_stride, offset}, *tally) == "");
  std::printf("%s, %zu B: %s\n", steps, static_cast<std::size_t>(bytes), describe(*tally).c_str());
  return tally->longest;
}

}  // namespace crash
