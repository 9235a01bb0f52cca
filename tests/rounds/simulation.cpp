#include "simulation.hpp"

#include <charconv>

#include "bootstrap/peers.hpp"
#include "world.hpp"

using namespace rondo;

namespace {

constexpr std::int64_t patience_ns = 15'000 * ms;       // from the job's beginning to its ranks' deadlines
constexpr std::int64_t longest_ns = 120'000 * ms;       // by then all must have ended, also the last of 200 ranks in a row
constexpr std::uint64_t events_of_a_rank = 50;          // some
constexpr std::uint64_t most_events_of_a_rank = 2'000;  // whoever tries to reach somebody all the time makes half as many

/// Those that an error names.
std::set<std::uint32_t> ranks_in(const std::string& error) {
  const std::string before = "rank ";
  std::set<std::uint32_t> ranks;
  for (std::size_t at = error.find(before); at != std::string::npos; at = error.find(before, at + 1)) {
    std::uint32_t rank = 0;
    const char* const begin = error.data() + at + before.size();
    if (std::from_chars(begin, error.data() + error.size(), rank).ptr != begin) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace

World::World(const Job& job)
    : job_(job), network_(job.seed, [this](std::uint32_t end, std::uint32_t other) { lose(end, other); }), members_(job.ranks),
      branches_(job.ranks > job.fan_out + 1) {
  for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
    members_[rank].deadline_ns = patience_ns + chance(20 * ms);
    network_.at(chance(50 * ms), [this, rank] { start(rank); });
  }
  for (std::uint32_t i = 0; i < job.crashes; ++i) fault([this](std::uint32_t rank) { crash(rank); });
  for (std::uint32_t i = 0; i < job.stopped; ++i) fault([this](std::uint32_t rank) { stop(rank); });
  for (std::uint32_t i = 0; i < job.cut; ++i) fault([this](std::uint32_t rank) { cut(rank); });
}

Outcome World::run() {
  network_.run(longest_ns, most_events_of_a_rank * (job_.ranks + 10));
  Outcome outcome;
  outcome.events = network_.events();
  for (std::uint32_t rank = 0; rank < job_.ranks; ++rank) judge(rank, outcome);
  return outcome;
}

void World::fault(const std::function<void(std::uint32_t)>& what) {
  const auto rank = static_cast<std::uint32_t>(network_.random() % job_.ranks);
  network_.after(network_.random() % (job_.ranks * events_of_a_rank), [this, rank, what] {
    if (members_[rank].phase != Phase::ended && members_[rank].phase != Phase::crashed) what(rank);
  });
}

void World::crash(std::uint32_t rank) {
  faulty_.insert(rank);
  Member& member = members_[rank];
  unseen_ |= member.rounds == nullptr || (member.phase == Phase::calling && member.goal == 0);
  member.phase = Phase::crashed;
  network_.leave(rank);
}

void World::stop(std::uint32_t rank) {
  faulty_.insert(rank);
  members_[rank].stopped = true;
}

void World::cut(std::uint32_t rank) {
  const auto peers = network_.peers(rank);
  if (peers.empty()) return;
  const std::uint32_t peer = peers[network_.random() % peers.size()];
  faulty_.insert({rank, peer});
  network_.cut(rank, peer);
}

bool World::is_up(std::uint32_t rank) const {
  const Member& member = members_[rank];
  return member.phase != Phase::ended && member.phase != Phase::crashed && !member.stopped;
}

void World::judge(std::uint32_t rank, Outcome& outcome) {
  const Member& member = members_[rank];
  const auto is_wrong = [&](const std::string& what) { outcome.wrong = name_of(rank, "") + " " + what; };
  if (!wrong_.empty()) outcome.wrong = wrong_;
  if (member.phase == Phase::crashed || member.stopped) return;
  if (member.phase != Phase::ended) return is_wrong("waits for ever");
  if (member.error.empty()) {
    ++outcome.well;
    return;
  }
  ++outcome.failed;
  if (faulty_.empty()) return is_wrong("failed though nothing happened: " + member.error);
  const std::set<std::uint32_t> blamed = ranks_in(member.error.substr(0, member.error.find(';')));  // a hint may follow
  if (blamed.empty()) return is_wrong("names nobody: " + member.error);
  // Whoever got nowhere while the job came to nothing can't know better.
  if (member.came_nowhere && job_.lost_attempts != 0) return;
  if (members_[0].stopped && faulty_.size() > 1) return;  // it can't say who else is missing
  for (const std::uint32_t other : blamed)
    if (!faulty_.contains(other)) return is_wrong("blames rank " + std::to_string(other) + ", which did nothing wrong: " + member.error);
  if (job_.lost_attempts != 0) return;
  if (member.hung_up_ns != 0 && member.ended_ns > member.hung_up_ns + 3'300 * ms) return is_wrong("went on after it was hung up on");
  const bool must_be_told = job_.stopped == 0 && !unseen_ && !member.came_nowhere;
  if (must_be_told && member.ended_ns > patience_ns / 2) is_wrong("learned too late: " + member.error);
}

Job random_job(std::uint64_t seed, std::uint32_t most_ranks) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const auto draw = [&state](std::uint64_t n) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return static_cast<std::uint32_t>((state * 0x2545f4914f6cdd1du >> 33) % n);
  };
  for (int i = 0; i < 8; ++i) draw(2);
  Job job;
  job.seed = seed;
  job.ranks = 1 + draw(most_ranks);
  job.fan_out = 1 + draw(5);
  if (draw(3) == 0) job.lost_attempts = draw(4) * 0.1;
  if (draw(2) == 0) job.crashes = draw(3);
  if (draw(4) == 0) job.stopped = draw(3);
  if (draw(4) == 0) job.cut = draw(3);
  return job;
}

Outcome simulate(const Job& job) { return World(job).run(); }

std::string text_of(const Job& job) {
  return std::to_string(job.ranks) + " ranks, fan-out " + std::to_string(job.fan_out) + ", seed " + std::to_string(job.seed) + ", " +
         std::to_string(job.lost_attempts) + " of the attempts lost, " + std::to_string(job.crashes) + " crashes, " + std::to_string(job.stopped) +
         " stopped, " + std::to_string(job.cut) + " cut";
}
