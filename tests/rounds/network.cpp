#include "network.hpp"

#include <algorithm>
#include <utility>

namespace {

constexpr std::int64_t us = 1'000;

}  // namespace

std::int64_t Network::delay() {
  const auto part = static_cast<std::int64_t>(random_() % 1000);
  return random_() % 50 == 0 ? part * 8 * us : part * us / 5;
}

void Network::run(std::int64_t until, std::uint64_t most_events) {
  while (!due_.empty() && due_.top().when <= until && events_ < most_events) {
    const Event event = due_.top();
    due_.pop();
    now_ = event.when;
    ++events_;
    event.what();
    while (!counted_.empty() && counted_.begin()->first <= events_) {
      const auto what = counted_.extract(counted_.begin());
      what.mapped()();
    }
  }
}

void Network::connect(std::uint32_t a, std::uint32_t b) {
  ++generation_;
  pipes_[{a, b}] = pipes_[{b, a}] = {now_, true, generation_};
}

void Network::deliver(std::uint32_t from, std::uint32_t to, Pipe& pipe, std::function<void()> what) {
  pipe.last_ns = std::max(pipe.last_ns + 1, now_ + delay());
  at(pipe.last_ns, [this, from, to, generation = pipe.generation, what = std::move(what)] {
    const auto back = pipes_.find({to, from});
    if (back != pipes_.end() && back->second.generation == generation && back->second.open) what();
  });
}

void Network::send(std::uint32_t from, std::uint32_t to, std::function<void()> what) {
  const auto pipe = pipes_.find({from, to});
  if (pipe != pipes_.end() && pipe->second.open) deliver(from, to, pipe->second, std::move(what));
}

void Network::close(std::uint32_t from, std::uint32_t to) {
  const auto pipe = pipes_.find({from, to});
  if (pipe == pipes_.end() || !std::exchange(pipe->second.open, false)) return;
  deliver(from, to, pipe->second, [this, from, to] {
    pipes_[{to, from}].open = false;
    ended_(to, from);
  });
}

void Network::leave(std::uint32_t rank) {
  for (const std::uint32_t peer : peers(rank)) close(rank, peer);
}

void Network::cut(std::uint32_t a, std::uint32_t b) {
  for (const auto& [end, other] : {std::pair(a, b), std::pair(b, a)}) {
    pipes_[{end, other}].open = false;
    at(now_ + delay(), [this, end = end, other = other] { ended_(end, other); });
  }
}

std::vector<std::uint32_t> Network::peers(std::uint32_t rank) const {
  std::vector<std::uint32_t> peers;
  for (auto pipe = pipes_.lower_bound({rank, 0}); pipe != pipes_.end() && pipe->first.first == rank; ++pipe)
    if (pipe->second.open) peers.push_back(pipe->first.second);
  return peers;
}
