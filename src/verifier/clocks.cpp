#include "verifier/clocks.hpp"

#include <algorithm>

#include "verifier/messages.hpp"
#include "verifier/raise.hpp"

namespace rondo::verifier {

Clocks::Clocks(const Image& image, Learning learning, const Neighbours& neighbours, std::uint32_t pieces)
    : image_(image),
      neighbours_(neighbours),
      learning_(learning),
      dense_(learning != Learning::neighbours),
      whole_lanes_(image.whole_lanes()),
      pieces_(pieces),
      events_(image.lanes(), 0),
      blocks_(image.lanes()),
      free_blocks_(dense_ ? 1 : image.lanes()) {
  for (std::uint32_t lane = 0; lane < image.lanes() && !overflowed_; ++lane) blocks_[lane] = new_block(lane);
  if (learning != Learning::first_hand) publish_targets();
}

/// Tells each step that somebody waits for, and of how many pieces ago.
template <typename Take>
void Clocks::each_wait(const Take& take) const {
  for (std::uint32_t s = 0; s < image_.step_count(); ++s) {
    const FlatStep& step = image_.steps[s];
    if (step.kind == StepKind::wait) take(step.first, step.count);
    for (std::uint32_t a = step.first_after; a < image_.steps[s + 1].first_after; ++a) take(image_.afters[a].step, 0u);
  }
}

/// Lists who waits for which step, so that a snapshot is dropped with its last reader.
void Clocks::publish_targets() {
  target_.assign(image_.step_count(), none);
  std::vector<std::uint32_t> readers(image_.step_count(), 0);  // of each step
  each_wait([&](std::uint32_t step, std::uint32_t) { ++readers[step]; });
  std::uint32_t targets = 0, waits = 0;
  for (std::uint32_t s = 0; s < image_.step_count(); ++s) {
    if (readers[s] == 0) continue;
    target_[s] = targets++;
    first_lag_.push_back(waits);
    waits += readers[s];
  }
  first_lag_.push_back(waits);
  lags_.resize(waits);
  std::vector<std::uint32_t> next = first_lag_;
  each_wait([&](std::uint32_t step, std::uint32_t lag) { lags_[next[target_[step]]++] = lag; });
  for (std::uint32_t t = 0; t < targets; ++t)
    if (first_lag_[t + 1] - first_lag_[t] > 1) std::sort(lags_.begin() + first_lag_[t], lags_.begin() + first_lag_[t + 1]);
  if ((targets + 2 * image_.sends.size()) * pieces_ > max_clock_words) overflowed_ = true;
  if (overflowed_) return;
  published_.assign(std::size_t{targets} * pieces_, none);
  sent_.assign(image_.sends.size() * pieces_, none);
  received_.assign(image_.sends.size() * pieces_, none);
}

std::uint32_t Clocks::known(std::uint32_t lane, std::uint32_t other) const {
  const std::uint32_t* clock = &words_[blocks_[lane] + 1];
  if (dense_) return clock[other];
  const auto& list = neighbours_[lane];
  const auto at = std::lower_bound(list.begin(), list.end(), other);
  return at == list.end() || *at != other ? 0 : clock[at - list.begin()];
}

std::size_t Clocks::new_block(std::uint32_t lane) {
  auto& free = free_blocks_[dense_ ? 0 : lane];
  std::size_t block = words_.size();
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
  } else if (words_.size() + width(lane) + 1 > max_clock_words) {
    overflowed_ = true;
    return blocks_[lane];
  } else {
    words_.resize(words_.size() + width(lane) + 1, 0);
  }
  words_[block] = 1;
  return block;
}

void Clocks::release_block(std::uint32_t lane, std::size_t block) {
  if (--words_[block] == 0) free_blocks_[dense_ ? 0 : lane].push_back(block);
}

/// The lane's block, a copy when snapshots hold the old one.
std::size_t Clocks::own_block(std::uint32_t lane) {
  const std::size_t old = blocks_[lane];
  if (words_[old] == 1) return old;
  const std::size_t fresh = new_block(lane);
  if (overflowed_) return old;
  std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(old + 1), width(lane),
              words_.begin() + static_cast<std::ptrdiff_t>(fresh + 1));
  --words_[old];
  return blocks_[lane] = fresh;
}

std::uint32_t Clocks::snapshot(std::uint32_t lane, std::uint32_t readers) {
  if (readers == 0) return none;
  const Snapshot made{lane, events_[lane], blocks_[lane], readers};
  ++words_[made.block];
  if (free_snapshots_.empty()) {
    snapshots_.push_back(made);
    return static_cast<std::uint32_t>(snapshots_.size() - 1);
  }
  const std::uint32_t number = free_snapshots_.back();
  free_snapshots_.pop_back();
  snapshots_[number] = made;
  return number;
}

/// What the snapshot's lane knew, where a shift has moved that lane.
void Clocks::join(std::uint32_t lane, std::uint32_t number, std::uint32_t shift) {
  if (number == none) return;
  Snapshot& from = snapshots_[number];
  if (dense_)
    join_dense(lane, from, shift);
  else if (shift == 0)
    join_sparse(lane, from);
  else
    join_shifted(lane, from, shift);
  if (--from.readers > 0) return;
  release_block(from.lane, from.block);
  free_snapshots_.push_back(number);
}

/// Who knows of a step knows all that its lane knew then.
void Clocks::join_dense(std::uint32_t lane, const Snapshot& from, std::uint32_t shift) {
  const std::uint32_t other = image_.moved_lane(shift, from.lane);
  if (known(lane, other) >= from.event) return;
  const std::size_t block = own_block(lane);
  std::uint32_t* mine = &words_[block + 1];
  const std::uint32_t* theirs = &words_[from.block + 1];
  const std::size_t lanes = image_.lanes();
  const std::size_t moved = shift * lanes;
  if (shift == 0) {
    raise(mine, theirs, whole_lanes_);
  } else if (image_.shifts->rotates()) {
    raise(mine + moved, theirs, whole_lanes_ - moved);
    raise(mine, theirs + whole_lanes_ - moved, moved);
  } else {
    for (std::uint32_t e = 0; e < image_.header.ranks; ++e) raise(mine + image_.shifts->moved(shift, e) * lanes, theirs + e * lanes, lanes);
  }
  mine[other] = from.event;
}

void Clocks::join_shifted(std::uint32_t lane, const Snapshot& from, std::uint32_t shift) {
  const auto& mine = neighbours_[lane];
  const auto& theirs = neighbours_[from.lane];
  if (mine.empty()) return;
  const std::uint32_t back = image_.inverse(shift);
  const std::size_t block = own_block(lane);
  std::uint32_t* clock = &words_[block + 1];
  const std::uint32_t* other = &words_[from.block + 1];
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const std::uint32_t seen = image_.moved_lane(back, mine[k]);  // as the other lane numbers it
    const auto at = std::lower_bound(theirs.begin(), theirs.end(), seen);
    if (seen == from.lane)
      clock[k] = std::max(clock[k], from.event);
    else if (at != theirs.end() && *at == seen)
      clock[k] = std::max(clock[k], other[at - theirs.begin()]);
  }
}

void Clocks::join_sparse(std::uint32_t lane, const Snapshot& from) {
  const auto& mine = neighbours_[lane];
  const auto& theirs = neighbours_[from.lane];
  if (mine.empty()) return;
  const std::size_t block = own_block(lane);
  std::uint32_t* clock = &words_[block + 1];
  const std::uint32_t* other = &words_[from.block + 1];
  for (std::size_t k = 0, m = 0; k < mine.size(); ++k) {
    if (mine[k] == from.lane) {
      clock[k] = std::max(clock[k], from.event);
      continue;
    }
    while (m < theirs.size() && theirs[m] < mine[k]) ++m;
    if (m < theirs.size() && theirs[m] == mine[k]) clock[k] = std::max(clock[k], other[m]);
  }
}

void Clocks::enter(std::uint32_t lane, std::uint32_t s, std::uint32_t piece) {
  const FlatStep& step = image_.steps[s];
  events_[lane] = image_.event(lane, s, step.skew, piece);
  if (overflowed_) return;
  if (learning_ == Learning::first_hand) return hear_what_it_waits_for(lane, step, piece);
  for (std::uint32_t a = step.first_after; a < image_.steps[s + 1].first_after; ++a)
    join(lane, published_[std::size_t{target_[image_.afters[a].step]} * pieces_ + piece], 0);
  if (step.kind == StepKind::wait) {
    if (piece >= step.count) join(lane, published_[std::size_t{target_[step.first]} * pieces_ + piece - step.count], step.target_shift);
    return;
  }
  if (!sent_.empty()) exchange(lane, step, piece, true);
}

void Clocks::leave(std::uint32_t lane, std::uint32_t s, std::uint32_t piece) {
  if (overflowed_ || learning_ == Learning::first_hand) return;
  if (const std::uint32_t target = target_[s]; target != none) {
    const auto begin = lags_.begin() + first_lag_[target];
    const auto end = lags_.begin() + first_lag_[target + 1];
    const auto readers = static_cast<std::uint32_t>(std::lower_bound(begin, end, pieces_ - piece) - begin);
    published_[std::size_t{target} * pieces_ + piece] = snapshot(lane, readers);
  }
  if (!sent_.empty()) exchange(lane, image_.steps[s], piece, false);
}

void Clocks::hear(std::uint32_t lane, std::uint32_t of, std::uint32_t event) {
  std::uint32_t& known = words_[blocks_[lane] + 1 + of];
  known = std::max(known, event);
}

/// At first hand nobody has to remember what a lane knew: what a step waits for says how far the other lane is.
void Clocks::hear_what_it_waits_for(std::uint32_t lane, const FlatStep& step, std::uint32_t piece) {
  for (std::uint32_t a = step.first_after; a < (&step + 1)->first_after; ++a) {
    const FlatAfter& after = image_.afters[a];
    hear(lane, after.lane, image_.event(after.lane, after.step, image_.steps[after.step].skew, piece));
  }
  if (step.kind != StepKind::wait) return image_.links.empty() ? void() : hear_from_links(lane, step, piece);
  if (piece < step.count) return;
  hear(lane, image_.moved_lane(step.target_shift, step.target_lane), image_.event(step.target_lane, step.first, step.target_skew, piece - step.count));
}

void Clocks::hear_from_links(std::uint32_t lane, const FlatStep& step, std::uint32_t piece) {
  for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    if (operand.buffer != Buffer::link) continue;
    const Link& link = image_.links[operand.rank];
    if (k < step.sources) {
      const LinkMessage& send = image_.sends[link.first_send + operand.index];
      hear(lane, image_.moved_lane(image_.inverse(link.to), link.sender), image_.event(link.sender, send.step, send.skew, piece));
    } else if (const auto [message, lag] = tenant(link, operand.index); piece >= lag) {
      const LinkMessage& receive = image_.receives[link.first_receive + message];
      hear(lane, image_.moved_lane(image_.shifts ? link.to : 0, link.receiver), image_.event(link.receiver, receive.step, receive.skew, piece - lag));
    }
  }
}

/// A receive learns from its send. A send learns from the receive of its slot's previous tenant, as lowering has it:
/// the link's bound would say more, but lowered links hold more than `depth` messages.
void Clocks::exchange(std::uint32_t lane, const FlatStep& step, std::uint32_t piece, bool entering) {
  for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    if (operand.buffer != Buffer::link) continue;
    const Link& link = image_.links[operand.rank];
    const std::size_t first = std::size_t{link.first_send} * pieces_;
    const std::size_t here = first + std::size_t{operand.index} * pieces_ + piece;
    if (k < step.sources && entering)
      join(lane, sent_[here], image_.inverse(link.to));
    else if (k < step.sources)
      received_[here] = snapshot(lane, next_tenant_exists(link, operand.index, piece) ? 1 : 0);
    else if (!entering)
      sent_[here] = snapshot(lane, 1);
    else if (const auto [message, lag] = tenant(link, operand.index); piece >= lag)
      join(lane, received_[first + std::size_t{message} * pieces_ + piece - lag], image_.shifts ? link.to : 0);
  }
}

std::uint32_t Clocks::link_slots(const Link& link) const {
  const bool same = even(image_.sends, link.first_send, link.send_count);
  return same ? std::min(link.send_count, image_.header.depth) : link.send_count;
}

/// Who had the slot before this message, and how many pieces ago.
std::pair<std::uint32_t, std::uint32_t> Clocks::tenant(const Link& link, std::uint32_t message) const {
  const std::uint32_t slots = link_slots(link);
  if (message >= slots) return {message - slots, 0};
  const std::uint32_t last = link.send_count - 1;
  return {last - (last - message) % slots, image_.header.depth};
}

bool Clocks::next_tenant_exists(const Link& link, std::uint32_t message, std::uint32_t piece) const {
  return message + link_slots(link) < link.send_count || std::uint64_t{piece} + image_.header.depth < pieces_;
}

}  // namespace rondo::verifier
