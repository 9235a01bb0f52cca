#include "bootstrap/correspondence.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "bootstrap/bundle.hpp"

namespace rondo {
namespace {

constexpr std::int64_t farewell_ns = 100'000'000;
constexpr std::int64_t watch_ns = 300'000'000;
constexpr std::int64_t longest_wait_ns = watch_ns;
constexpr short listening = POLLIN | POLLRDHUP;
constexpr std::int64_t crowd_ns = 1'000'000;  // until fewer descriptors may be under way

/// Somebody else's, who keeps it.
std::shared_ptr<const Address> view_of(const Address& address) { return {std::shared_ptr<const Address>(), &address}; }

std::map<std::uint32_t, Line> lines_to(std::vector<PeerSocket> peers) {
  std::map<std::uint32_t, Line> lines;
  for (std::uint32_t peer = 0; peer < peers.size(); ++peer)
    if (peers[peer].socket) lines.emplace(peer, Line(std::move(peers[peer])));
  return lines;
}

/// Every child's, none here yet.
std::vector<Gathered> no_gifts(const TreePlace& place) { return std::vector<Gathered>(place.children.size()); }

Address bytes_of(const std::vector<std::uint32_t>& ranks) {
  const auto* const begin = reinterpret_cast<const std::byte*>(ranks.data());
  return {{begin, begin + ranks.size() * sizeof(std::uint32_t)}, {}};
}

Error no_bundle() { return in_bootstrap(Errc::invalid_argument, "a round that isn't one of its ranks"); }

std::vector<std::uint32_t> ranks_of(const Address& content) {
  std::vector<std::uint32_t> ranks(content.bytes.size() / sizeof(std::uint32_t));
  if (!ranks.empty()) std::memcpy(ranks.data(), content.bytes.data(), ranks.size() * sizeof(std::uint32_t));
  return ranks;
}

}  // namespace

Correspondence::Correspondence(std::uint32_t rank, std::uint32_t size, std::vector<PeerSocket> peers, bool descriptors)
    : descriptors_(descriptors), lines_(lines_to(std::move(peers))),
      rounds_(place_in_tree(rank, size, size), [this](std::uint32_t other) { return whom(other); }), gifts_(no_gifts(place())), form_(own_form()) {}

std::string Correspondence::whom(std::uint32_t rank) const {
  const auto line = lines_.find(rank);
  return line != lines_.end() ? line->second.whom() : rank == place().rank ? this_process() : "";
}

void Correspondence::branch(const TreePlace& place) {
  rounds_.branch(place);
  gifts_ = no_gifts(place);
}

std::vector<PeerSocket> Correspondence::take_peers() {
  std::vector<PeerSocket> peers(place().size);
  for (auto& [peer, line] : lines_)
    if (place().rank == 0 || peer == 0) peers[peer] = line.take();
  lines_.clear();
  return peers;
}

Result<Gathered> Correspondence::all_gather(const Address& own, std::int64_t deadline_ns) {
  if (auto over = run(own, deadline_ns); !over) return over.error();
  crash_point("bootstrap: a round spread");
  if (form_ == Form::bundles) return open_bundle(*std::exchange(bundle_, nullptr), place().size);
  if (place().rank != 0) return std::exchange(all_, Gathered());
  Gathered all;
  auto copy = duplicate(own);
  if (!copy) return copy.error();
  all.push_back(std::move(*copy));
  for (Gathered& given : spread_) all.push_back(given.take(0));
  return all;
}

Result<Address> Correspondence::look_up(const Address& own, const std::function<std::uint32_t(std::uint32_t)>& whose, std::int64_t deadline_ns) {
  whose_ = &whose;
  form_ = Form::answers;
  auto over = run(own, deadline_ns);
  form_ = own_form();
  if (!over) return over.error();
  return place().rank == 0 ? Address{} : *bundle_;
}

Result<void> Correspondence::run(const Address& own, std::int64_t deadline_ns) {
  crash_point("bootstrap: a round begun");
  own_ = &own;
  all_ = Gathered();
  bundle_.reset();
  if (place().size == 1) begin_to_spread();
  rounds_.enter(deadline_ns);
  for (;;) {
    post_letters();
    const Moved written = write_lines();
    if (rounds_.state() == Rounds::State::failed) break;
    if (rounds_.state() == Rounds::State::outside) return {};
    // Who spreads listens to nobody: others may be in the next round already.
    const bool listens = rounds_.state() != Rounds::State::spreading;
    wait(rounds_.next_ns(), written, listens ? listening : 0);
    if (listens) read_lines();
    watch_lines();
    rounds_.pass_time(now_ns());
  }
  say_farewell();
  return error();
}

Error Correspondence::give_up(const Error& error) {
  rounds_.give_up(error);
  say_farewell();
  return rounds_.error();
}

bool Correspondence::is_over() {
  wait(0, Moved::done, listening);
  read_lines();
  post_letters();
  (void)write_lines();
  return rounds_.state() == Rounds::State::failed;
}

/// What is left to say is said, as far as it is taken.
void Correspondence::say_farewell() {
  const auto verdict = std::make_shared<const Address>(pack_verdict(rounds_.verdict()));
  if (!std::exchange(told_, true))
    for (auto& [peer, line] : lines_) line.say(Letter::Kind::verdict, verdict);
  const std::int64_t deadline_ns = now_ns() + farewell_ns;
  for (Moved written = write_lines(); written != Moved::done && now_ns() < deadline_ns; written = write_lines()) wait(deadline_ns, written, 0);
  for (auto& [peer, line] : lines_) line.forget();
}

void Correspondence::post_letters() {
  bool spreads = false;
  for (const Letter& letter : rounds_.take_letters()) {
    const auto line = lines_.find(letter.to);
    if (line == lines_.end()) continue;
    switch (letter.kind) {
      case Letter::Kind::verdict: break;  // everybody's, when the rounds have failed
      case Letter::Kind::gift: line->second.say(letter.kind, std::make_shared<const Address>(own_gift())); break;
      case Letter::Kind::who_is_missing: line->second.say(letter.kind, std::make_shared<const Address>()); break;
      case Letter::Kind::missing: line->second.say(letter.kind, std::make_shared<const Address>(bytes_of(letter.ranks))); break;
      case Letter::Kind::all:
        if (!std::exchange(spreads, true)) begin_to_spread();
        post_all(letter.to);
    }
  }
}

/// Of the ranks that this one speaks for.
Address Correspondence::own_gift() {
  if (form_ != Form::bundles) return *own_;
  Address bundle;
  add_to_bundle(bundle, *own_);
  for (Gathered& gift : gifts_) bundle.bytes.insert(bundle.bytes.end(), gift[0].bytes.begin(), gift[0].bytes.end());
  gifts_ = no_gifts(place());
  return bundle;
}

void Correspondence::begin_to_spread() {
  if (place().rank != 0) return;  // another rank sends on what came
  crash_point("bootstrap: a round gathered");
  if (form_ == Form::bundles) bundle_ = std::make_shared<const Address>(own_gift());
  else spread_ = std::exchange(gifts_, no_gifts(place()));
}

void Correspondence::post_all(std::uint32_t to) {
  Line& line = lines_.at(to);
  const auto given_by = [this](std::uint32_t rank) { return view_of(rank == 0 ? *own_ : spread_[rank - 1][0]); };
  if (form_ == Form::bundles) return line.say(Letter::Kind::all, bundle_);
  if (form_ == Form::answers) {
    const std::uint32_t whose = (*whose_)(to);
    return line.say(Letter::Kind::all, whose == 0 ? std::make_shared<const Address>() : given_by(whose));
  }
  for (std::uint32_t rank = 0; rank < place().size; ++rank) line.say(Letter::Kind::all, given_by(rank));
}

/// The furthest that all lines have got.
Moved Correspondence::write_lines() {
  Moved result = Moved::done;
  for (auto& [peer, line] : lines_) {
    if (!line.has_unsent()) continue;
    const Moved step = line.write();
    if (step != Moved::done && result != Moved::crowded) result = step;
    if (step == Moved::done) rounds_.sent(peer);
  }
  return result;
}

void Correspondence::wait(std::int64_t until_ns, Moved written, short reads) {
  entries_.clear();
  for (const auto& [peer, line] : lines_) {
    const short writes = line.has_unsent() && written == Moved::blocked ? POLLOUT : 0;
    const auto events = static_cast<short>(reads | writes);
    entries_.push_back({events == 0 || line.has_ended() ? -1 : line.socket(), events, 0});
  }
  const std::int64_t left_ns = std::clamp<std::int64_t>(until_ns - now_ns(), 0, written == Moved::crowded ? crowd_ns : longest_wait_ns);
  if (poll(entries_.data(), entries_.size(), static_cast<int>((left_ns + 999'999) / 1'000'000)) < 0) entries_.assign(entries_.size(), {-1, 0, 0});
}

/// While a connection is idle the kernel's probes find out that a machine has gone; what is under way hides it.
void Correspondence::watch_lines() {
  if (descriptors_ || now_ns() < next_watch_ns_) return;
  next_watch_ns_ = now_ns() + watch_ns;
  for (auto& [peer, line] : lines_)
    if (line.is_cut_off()) rounds_.lose(peer, in_bootstrap(Errc::io, "", ETIMEDOUT));
}

/// A letter of each rank that has sent one. Once this rank has what all gave nothing more is read: what comes then may be for somebody else, and who has gone
/// was through.
void Correspondence::read_lines() {
  const bool in_round = rounds_.state() != Rounds::State::outside;
  const auto is_enough = [&] {
    const Rounds::State state = rounds_.state();
    return state == Rounds::State::failed || (in_round && (state == Rounds::State::spreading || state == Rounds::State::outside));
  };
  std::size_t entry = 0;
  for (auto& [peer, line] : lines_) {
    const short events = entries_[entry++].revents;
    if ((events & ~POLLOUT) == 0) continue;
    // Whoever has hung up is heard to the end: its gift may have been the last that was missing.
    do read(peer, line);
    while ((events & POLLRDHUP) != 0 && !line.has_ended() && !is_enough());
    if (is_enough()) return;
  }
}

void Correspondence::read(std::uint32_t peer, Line& line) {
  const auto step = line.read([&](std::uint32_t kind) { return largest(peer, static_cast<Letter::Kind>(kind)); });
  if (!step && step.error().code == Errc::out_of_resources) return rounds_.give_up(step.error());
  if (!step) return rounds_.lose(peer, step.error());
  if (*step != Moved::done) return;
  const Letter::Kind kind = line.kind();
  Gathered content;
  content.push_back(line.content());
  hear(peer, kind, std::move(content));
}

/// What a letter may have, before memory is taken for it.
std::uint64_t Correspondence::largest(std::uint32_t peer, Letter::Kind kind) const {
  const bool bundles = form_ == Form::bundles;
  switch (kind) {
    case Letter::Kind::verdict: return largest_frame;
    case Letter::Kind::gift: return bundles ? largest_bundle(place().end_of(peer) - peer) : largest_frame;
    case Letter::Kind::all: return bundles ? largest_bundle(place().size) : largest_frame;
    case Letter::Kind::who_is_missing: return 0;
    case Letter::Kind::missing: return std::uint64_t{place().size} * sizeof(std::uint32_t);
  }
  return 0;
}

void Correspondence::hear(std::uint32_t peer, Letter::Kind kind, Gathered content) {
  if (kind == Letter::Kind::gift) return take_gift(peer, std::move(content));
  if (kind == Letter::Kind::all) return take_all(peer, std::move(content));
  if (kind == Letter::Kind::verdict)
    if (const auto verdict = unpack_verdict(content[0]); !verdict) return rounds_.hear_verdict(verdict.error());
  rounds_.hear(peer, kind, kind == Letter::Kind::missing ? ranks_of(content[0]) : std::vector<std::uint32_t>());
}

void Correspondence::take_gift(std::uint32_t peer, Gathered content) {
  const auto child = place().child(peer);
  if (child && form_ == Form::bundles && !is_bundle(content[0], place().end_of(peer) - peer)) return rounds_.lose(peer, no_bundle());
  rounds_.hear(peer, Letter::Kind::gift);
  if (rounds_.state() != Rounds::State::failed) gifts_[*child] = std::move(content);
}

void Correspondence::take_all(std::uint32_t peer, Gathered content) {
  if (rounds_.state() == Rounds::State::waiting && form_ == Form::frames) {
    all_.push_back(content.take(0));
    if (all_.all().size() < place().size) return;
  } else {
    if (form_ == Form::bundles && !is_bundle(content[0], place().size)) return rounds_.lose(peer, no_bundle());
    bundle_ = std::make_shared<const Address>(content.take(0));
  }
  rounds_.hear(peer, Letter::Kind::all);
}

}  // namespace rondo
