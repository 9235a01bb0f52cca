// How a simulated job's ranks find and meet one another.
#include <cerrno>

#include "bootstrap/meeting.hpp"
#include "bootstrap/peers.hpp"
#include "world.hpp"

using namespace rondo;

namespace {

constexpr std::int64_t attempt_ns = 2'000 * ms;
constexpr std::int64_t linger_ns = 500 * ms;

}  // namespace

void World::start(std::uint32_t rank) {
  if (!is_up(rank)) return;
  members_[rank].rounds = std::make_unique<Rounds>(place_in_tree(rank, job_.ranks, job_.ranks), [](std::uint32_t) { return ""; });
  if (rank != 0) return approach(rank, 0);
  members_[0].listens = true;
  hold(0, all_but_first(job_.ranks));
}

void World::approach(std::uint32_t rank, std::uint32_t goal) {
  Member& member = members_[rank];
  member.phase = Phase::calling;
  member.goal = goal;
  if (goal != 0) member.rounds->await({goal});
  member.approach = std::make_unique<Approach>(goal, "job", patience(rank), Result<void>());
  call(rank);
}

std::int64_t World::patience(std::uint32_t rank) const {
  const bool apart = members_[rank].heard_whole != 0;  // from rank 0
  return members_[rank].deadline_ns + (apart ? verdict_grace_ns * place_of(rank).depth : 0);
}

void World::call(std::uint32_t rank) {
  Member& member = members_[rank];
  const std::uint64_t attempt = ++member.attempt;
  const bool is_lost = network_.random() % 1000 < static_cast<std::uint64_t>(job_.lost_attempts * 1000);
  if (is_lost) return miss(rank, attempt, chance(300 * ms), Approach::Failure::unreached);
  if (!members_[member.goal].listens) return miss(rank, attempt, network_.delay(), Approach::Failure::unreached);
  network_.at(network_.now() + network_.delay(), [this, rank, attempt] { knock(rank, attempt); });
  miss(rank, attempt, attempt_ns, Approach::Failure::unreached);
}

void World::miss(std::uint32_t rank, std::uint64_t attempt, std::int64_t in_ns, Approach::Failure failure) {
  network_.at(network_.now() + in_ns, [this, rank, attempt, failure] {
    Member& member = members_[rank];
    if (!is_up(rank) || member.phase != Phase::calling || member.attempt != attempt) return;
    fail_attempt(rank, failure);
  });
}

void World::fail_attempt(std::uint32_t rank, Approach::Failure failure) {
  Member& member = members_[rank];
  ++member.attempt;
  const bool hung_up = failure == Approach::Failure::hung_up;
  const Error why = hung_up ? lost(member.goal, "", in_bootstrap(Errc::io, "", ECONNRESET)) : in_bootstrap(Errc::io, "missed");
  if (const auto end = member.approach->fail(failure, why, network_.now())) return give_up(rank, *end);
  network_.at(network_.now() + member.approach->pause_ns(), [this, rank, attempt = member.attempt] {
    Member& again = members_[rank];
    if (!is_up(rank) || again.phase != Phase::calling || again.attempt != attempt) return;
    if (const auto end = again.approach->expire(network_.now())) return give_up(rank, *end);
    call(rank);
  });
}

void World::knock(std::uint32_t rank, std::uint64_t attempt) {
  Member& holder = members_[members_[rank].goal];
  if (!is_up(rank) || members_[rank].attempt != attempt) return;
  if (!holder.listens) return fail_attempt(rank, Approach::Failure::unreached);
  holder.knocking.emplace_back(rank, attempt);
  if (holder.phase == Phase::holding) open_door(members_[rank].goal);
}

void World::hold(std::uint32_t rank, std::vector<std::uint32_t> awaited) {
  Member& member = members_[rank];
  member.phase = Phase::holding;
  member.dismissed = false;
  member.seated.clear();
  member.attendance = std::make_unique<Attendance>(JobName{"job", job_.ranks}, rank, "", std::move(awaited));
  if (rank != 0) member.rounds->await(place_of(rank).children);
  network_.at(patience(rank), [this, rank] {
    if (!is_up(rank) || members_[rank].phase != Phase::holding || members_[rank].dismissed) return;
    members_[rank].attendance->refuse(members_[rank].attendance->missing());
    dismiss(rank, 0);
  });
  open_door(rank);
}

void World::open_door(std::uint32_t rank) {
  Member& holder = members_[rank];
  while (holder.phase == Phase::holding && !holder.knocking.empty()) {
    const auto [caller, attempt] = holder.knocking.back();
    holder.knocking.pop_back();
    if (!is_up(rank) || members_[caller].attempt != attempt || members_[caller].phase != Phase::calling) continue;
    const Hello hello = hello_of(caller, job_.ranks, {});
    const Attendance::Answer answer = holder.attendance->hear(hello, "");
    ++members_[caller].attempt;  // from here on the caller waits for the answer
    network_.connect(rank, caller);
    if (answer.seat) holder.seated.push_back(caller);
    send(rank, caller, {Letter::Kind::verdict, {}, {}, answer.verdict ? nullptr : std::make_shared<const Error>(answer.verdict.error())});
    if (!answer.seat) close_behind(rank, caller);
    else if (network_.random() % 8 == 0 && holder.attendance->hear(hello, "").seat) wrong_ = name_of(caller, "") + " is there twice";
  }
  if (holder.phase != Phase::holding) return;
  if (holder.attendance->is_complete() && holder.attendance->refusal()) return give_up(rank, *holder.attendance->refusal());
  if (holder.attendance->refusal()) return dismiss(rank, linger_ns);
  if (holder.attendance->is_complete()) enter_soon(rank, rank == 0 && branches_ ? look_up : 1);
}

void World::dismiss(std::uint32_t rank, std::int64_t ns) {
  Member& holder = members_[rank];
  if (std::exchange(holder.dismissed, true)) return;
  for (const std::uint32_t caller : holder.seated) {
    send(rank, caller, {Letter::Kind::verdict, {}, {}, std::make_shared<const Error>(*holder.attendance->refusal())});
    close_behind(rank, caller);
  }
  holder.seated.clear();
  network_.at(network_.now() + ns, [this, rank] {
    if (is_up(rank) && members_[rank].phase == Phase::holding) give_up(rank, *members_[rank].attendance->refusal());
  });
}
