// A simulated job's rounds.
#include <algorithm>
#include <cerrno>

#include "bootstrap/peers.hpp"
#include "world.hpp"

using namespace rondo;

namespace {

constexpr std::uint32_t last_round = 3;

std::uint64_t value_of(std::uint32_t rank, std::uint32_t round) { return (rank + 1) * 0x9e3779b97f4a7c15u + round * 0xc2b2ae3d27d4eb4fu; }

}  // namespace

void World::enter_soon(std::uint32_t rank, std::uint32_t round) {
  Member& member = members_[rank];
  member.phase = Phase::between;
  if (round == 1 && branches_) member.rounds->branch(place_of(rank));
  member.round = round;
  for (const auto& [from, parcel] : std::exchange(member.unread, {}))
    if (parcel) receive(rank, from, *parcel);
    else lose(rank, from);
  if (member.phase == Phase::ended) return;
  const std::int64_t pause = network_.random() % 4 == 0 ? chance(30 * ms) : 0;
  network_.at(network_.now() + pause, [this, rank] {
    if (!is_up(rank)) return;
    Member& ready = members_[rank];
    if (ready.round == look_up) ready.listens = rank == 0 || !place_of(rank).children.empty();
    ready.phase = Phase::in_round;
    ready.rounds->enter(ready.deadline_ns);
    look_at_clock(rank);
    post(rank);
  });
}

void World::look_at_clock(std::uint32_t rank) {
  const std::int64_t next = members_[rank].rounds->next_ns();
  network_.at(next, [this, rank, next] {
    Member& member = members_[rank];
    if (!is_up(rank) || member.phase != Phase::in_round || member.rounds->next_ns() > next) return;
    member.rounds->pass_time(network_.now());
    if (member.rounds->state() != Rounds::State::failed) look_at_clock(rank);
    post(rank);
  });
}

void World::post(std::uint32_t rank) {
  Member& member = members_[rank];
  if (member.phase == Phase::ended) return;
  for (const Letter& letter : member.rounds->take_letters()) post(rank, letter);
  if (member.rounds->state() == Rounds::State::failed && looks(rank)) return say_farewell(rank);
  if (member.phase == Phase::in_round && member.rounds->state() == Rounds::State::outside) finish_round(rank);
}

void World::post(std::uint32_t rank, const Letter& letter) {
  Member& member = members_[rank];
  Parcel parcel{letter.kind, {}, letter.ranks, {}};
  if (letter.kind == Letter::Kind::gift) parcel.goods = collect(rank);
  if (letter.kind == Letter::Kind::all) {
    if (rank == 0 && !std::exchange(spreading_, true)) member.all = collect(0);
    parcel.goods = member.all;
  }
  send(rank, letter.to, parcel);
}

Goods World::collect(std::uint32_t rank) {
  Member& member = members_[rank];
  Goods goods{member.round, rank, rank + 1, value_of(rank, member.round)};
  for (const std::uint32_t child : member.rounds->place().children) {
    const Goods& gift = member.gifts[child];
    if (gift.round != member.round || gift.begin != goods.end) goods.round = ~0u;  // not this round's, or a hole
    goods.end = gift.end;
    goods.sum += gift.sum;
  }
  member.gifts.clear();
  return goods;
}

void World::finish_round(std::uint32_t rank) {
  Member& member = members_[rank];
  if (rank == 0) spreading_ = false;
  if (rank == 0 && job_.ranks == 1) member.all = collect(0);
  std::uint64_t sum = 0;
  for (std::uint32_t other = 0; other < job_.ranks; ++other) sum += value_of(other, member.round);
  const Goods& all = member.all;
  if (all.round != member.round || all.begin != 0 || all.end != job_.ranks || all.sum != sum)
    wrong_ = name_of(rank, "") + " got something else than what all gave in round " + std::to_string(member.round);
  ++member.heard_whole;
  if (member.round == last_round) return end(rank, "");
  if (member.round != look_up) return enter_soon(rank, member.round + 1);
  const TreePlace place = place_of(rank);
  if (place.depth > 1) return approach(rank, place.parent);
  branch(rank);
}

void World::branch(std::uint32_t rank) {
  const TreePlace place = place_of(rank);
  if (place.depth == 0 || place.children.empty()) return enter_soon(rank, 1);
  hold(rank, place.children);
}

void World::send(std::uint32_t from, std::uint32_t to, const Parcel& parcel) {
  std::int64_t& leaves_ns = members_[from].leaves_ns[to];
  leaves_ns = std::max(leaves_ns, network_.now() + (network_.random() % 8 == 0 ? network_.delay() : 0));
  network_.at(leaves_ns, [this, from, to, parcel] {
    if (members_[from].phase == Phase::crashed) return;
    network_.send(from, to, [this, from, to, parcel] { receive(to, from, parcel); });
    if (parcel.kind != Letter::Kind::all || !is_up(from)) return;
    members_[from].rounds->sent(to);
    post(from);
  });
}

void World::close_behind(std::uint32_t from, std::uint32_t to) {
  network_.at(members_[from].leaves_ns[to], [this, from, to] { network_.close(from, to); });
}

void World::receive(std::uint32_t rank, std::uint32_t from, const Parcel& parcel) {
  Member& member = members_[rank];
  if (!is_up(rank)) return;
  if (member.phase == Phase::calling && from == member.goal && member.rounds->state() != Rounds::State::failed) {
    if (parcel.kind != Letter::Kind::verdict || parcel.verdict != nullptr) {
      if (const auto end = member.approach->fail(Approach::Failure::refused, *parcel.verdict, network_.now())) return give_up(rank, *end);
      wrong_ = name_of(rank, "") + " goes on though it was refused";
      return;
    }
    if (member.goal != 0 || !branches_) return member.goal != 0 ? branch(rank) : enter_soon(rank, 1);
    return enter_soon(rank, look_up);
  }
  if (is_unread(rank, from)) return member.unread.emplace_back(from, parcel), void();
  if (parcel.kind == Letter::Kind::gift) member.gifts[from] = parcel.goods;
  if (parcel.kind == Letter::Kind::all) member.all = parcel.goods;
  if (parcel.verdict != nullptr) member.rounds->hear_verdict(*parcel.verdict);
  else member.rounds->hear(from, parcel.kind, parcel.ranks);
  post(rank);
}

bool World::is_unread(std::uint32_t rank, std::uint32_t from) const {
  const Phase phase = members_[rank].phase;
  if (phase == Phase::in_round && members_[rank].rounds->state() == Rounds::State::spreading) return true;
  return phase == Phase::holding && (rank == 0 || place_of(rank).child(from));
}

void World::lose(std::uint32_t rank, std::uint32_t peer) {
  Member& member = members_[rank];
  if (!is_up(rank)) return;
  if (member.phase == Phase::calling && peer == member.goal && member.hung_up_ns == 0) member.hung_up_ns = network_.now();
  if (member.phase == Phase::calling && peer == member.goal) return fail_attempt(rank, Approach::Failure::hung_up);
  if (member.phase == Phase::holding) {
    for (std::size_t seat = 0; seat < member.attendance->seats(); ++seat)
      if (member.attendance->rank_at(seat) == peer && !member.attendance->is_awaited(seat) && !member.dismissed) {
        std::erase(member.seated, peer);
        Result<void> last_words;
        for (const auto& [from, parcel] : member.unread)
          if (from == peer && parcel && parcel->verdict != nullptr) last_words = *parcel->verdict;
        member.attendance->lose(seat, last_words);
        return open_door(rank);
      }
  }
  if (is_unread(rank, peer)) return member.unread.emplace_back(peer, std::nullopt), void();
  member.rounds->lose(peer, in_bootstrap(Errc::io, "", ECONNRESET));
  post(rank);
}

void World::give_up(std::uint32_t rank, const Error& error) {
  Member& member = members_[rank];
  member.rounds->give_up(error);
  say_farewell(rank);
}

void World::say_farewell(std::uint32_t rank) {
  const Rounds& rounds = *members_[rank].rounds;
  const auto verdict = std::make_shared<const Error>(rounds.verdict());
  for (const std::uint32_t peer : network_.peers(rank)) send(rank, peer, {Letter::Kind::verdict, {}, {}, verdict});
  end(rank, to_string(rounds.error()));
}

void World::end(std::uint32_t rank, const std::string& error) {
  Member& member = members_[rank];
  member.came_nowhere = member.phase == Phase::calling && !is_up(member.goal);
  member.phase = Phase::ended;
  member.error = error;
  member.ended_ns = network_.now();
  member.listens = false;
  std::int64_t last_ns = network_.now();
  if (!error.empty())  // what it says of it takes a moment; whoever is through has nothing left to say
    for (const auto& [to, leaves_ns] : member.leaves_ns) last_ns = std::max(last_ns, leaves_ns);
  if (error.empty()) network_.leave(rank);
  else network_.at(last_ns, [this, rank] { network_.leave(rank); });
}
