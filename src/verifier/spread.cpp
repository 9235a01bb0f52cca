#include "verifier/spread.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "verifier/messages.hpp"

namespace rondo::verifier {
namespace {

/// `to` for piece i waits for `from` for piece i − lag.
struct Edge {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t lag;
};

void add_even_credits(const Image& image, const Link& link, std::uint64_t depth, std::vector<Edge>& edges) {
  const auto count = static_cast<std::int64_t>(link.send_count);
  for (std::int64_t m = 0; m < count; ++m) {
    const std::int64_t tenant = m - static_cast<std::int64_t>(depth);
    const std::int64_t lag = tenant >= 0 ? 0 : (-tenant + count - 1) / count;
    const auto received = static_cast<std::uint32_t>(tenant + lag * count);
    edges.push_back({image.receives[link.first_receive + received].step,
                     image.sends[link.first_send + static_cast<std::uint32_t>(m)].step, lag});
  }
}

/// Messages of unequal skews: their order in the middle of a long run tells who waits for whom.
bool add_uneven_credits(const Image& image, const Link& link, std::uint64_t depth, std::vector<Edge>& edges) {
  const std::uint32_t first = link.first_send;
  const std::uint32_t range = image.sends[first + link.send_count - 1].skew - image.sends[first].skew;
  const std::uint64_t middle = range + 1 + depth / link.send_count + 1;
  const std::uint64_t pieces = middle + range + 1;
  if (pieces * link.send_count > max_work) return false;
  const auto sent = passing(image.sends, first, link.send_count, static_cast<std::uint32_t>(pieces));
  for (std::size_t n = depth; n < sent.size(); ++n)
    if (sent[n].piece == middle)
      edges.push_back({image.receives[link.first_receive + sent[n - depth].message].step,
                       image.sends[first + sent[n].message].step,
                       std::int64_t{sent[n].piece} - std::int64_t{sent[n - depth].piece}});
  return true;
}

bool collect(const Image& image, std::uint64_t depth, std::vector<Edge>& edges) {
  for (std::uint32_t s = 0; s < image.step_count(); ++s) {
    const FlatStep& step = image.steps[s];
    if (step.kind == StepKind::wait) edges.push_back({step.first, s, step.count});
    for (std::uint32_t a = step.first_after; a < image.steps[s + 1].first_after; ++a)
      edges.push_back({image.afters[a].step, s, 0});
  }
  for (const Link& link : image.links) {
    for (std::uint32_t m = 0; m < link.send_count; ++m)
      edges.push_back({image.sends[link.first_send + m].step, image.receives[link.first_receive + m].step, 0});
    if (depth == never_full) continue;
    if (even(image.sends, link.first_send, link.send_count))
      add_even_credits(image, link, depth, edges);
    else if (!add_uneven_credits(image, link, depth, edges))
      return false;
  }
  return true;
}

/// A delay for each step, such that no edge leads to an earlier time, where the time of a step for piece i is i + skew
/// + delay. Found by raising what is too early until nothing is.
class Delays {
 public:
  Delays(const Image& image, const std::vector<Edge>& edges) : image_(image), edges_(edges) {}

  std::optional<std::uint64_t> spread() {
    if (!settle()) return std::nullopt;
    std::int64_t least = image_.low_skew;
    std::int64_t most = image_.high_skew;
    for (std::uint32_t s = 0; s < delays_.size(); ++s) {
      least = std::min(least, image_.steps[s].skew + delays_[s]);
      most = std::max(most, image_.steps[s].skew + delays_[s]);
    }
    return static_cast<std::uint64_t>(most - least);
  }

 private:
  bool settled(const Edge& edge) const {
    const auto delay = [&](std::uint32_t step) { return delays_.empty() ? 0 : delays_[step]; };
    return edge.lag + image_.steps[edge.to].skew + delay(edge.to) >= image_.steps[edge.from].skew + delay(edge.from);
  }

  bool settle() {
    if (std::all_of(edges_.begin(), edges_.end(), [&](const Edge& edge) { return settled(edge); })) return true;
    delays_.assign(image_.step_count(), 0);
    // Rounds needed are at most the edges on the longest chain; plans that need many are far from anything sensible.
    const std::uint64_t per_round = edges_.size() + 2 * std::uint64_t{image_.step_count()};
    for (std::uint64_t left = std::max<std::uint64_t>(max_work / 4 / per_round, 4); left > 0; --left)
      if (!raise()) return true;
    return false;
  }

  bool raise() {
    bool raised = false;
    for (const Edge& edge : edges_) {
      if (settled(edge)) continue;
      delays_[edge.to] = image_.steps[edge.from].skew + delays_[edge.from] - edge.lag - image_.steps[edge.to].skew;
      raised = true;
    }
    for (std::uint32_t lane = 0; lane < image_.lanes(); ++lane) raised |= raise_lane(lane);
    return raised;
  }

  /// Later in a turn is no earlier in time, and the next turn is one later.
  bool raise_lane(std::uint32_t lane) {
    const std::uint32_t begin = image_.lane_steps[lane];
    const std::uint32_t end = image_.lane_steps[lane + 1];
    if (begin == end) return false;
    bool raised = false;
    std::int64_t least = *std::max_element(delays_.begin() + begin, delays_.begin() + end) - 1;
    for (std::uint32_t s = begin; s < end; ++s) {
      raised |= delays_[s] < least;
      delays_[s] = least = std::max(least, delays_[s]);
    }
    return raised;
  }

  const Image& image_;
  const std::vector<Edge>& edges_;
  std::vector<std::int64_t> delays_;
};

}  // namespace

std::optional<std::uint64_t> piece_spread(const Image& image, std::uint64_t depth) {
  if (image.low_skew == image.high_skew) return 0;  // nothing waits for a piece of its future
  std::vector<Edge> edges;
  if (!collect(image, depth, edges)) return std::nullopt;
  return Delays(image, edges).spread();
}

}  // namespace rondo::verifier
