#include "verifier/deadlock.hpp"

#include <algorithm>
#include <string>

#include "verifier/messages.hpp"
#include "verifier/spread.hpp"
#include "verifier/walk.hpp"

namespace rondo::verifier {
namespace {

std::string describe_circle(const Image& image, const std::vector<Blocked>& circle) {
  constexpr std::size_t most = 6;
  std::string text = "waits for ever";
  if (circle.front().piece > 0) text += " at piece " + std::to_string(circle.front().piece);
  if (circle.size() == 1) return text;
  text += ": for ";
  for (std::size_t k = 1; k < circle.size() && k < most; ++k)
    text += where(image, circle[k].step) + ", which waits for ";
  if (circle.size() > most) text += "(" + std::to_string(circle.size() - most) + " more), which wait for ";
  return text + where(image, circle.front().step);
}

std::uint32_t longest_message_run(const Image& image) {
  std::uint32_t most = 1;
  for (const Link& link : image.links) most = std::max(most, link.send_count);
  return most;
}

/// Links of unequal skews keep their steady order only away from a run's ends.
std::uint64_t margin(const Image& image, std::uint64_t depth) {
  const bool skewed = std::any_of(image.links.begin(), image.links.end(), [&](const Link& link) {
    return !even(image.sends, link.first_send, link.send_count) || !even(image.receives, link.first_receive, link.receive_count);
  });
  return skewed ? 2 * std::uint64_t{image.high_skew - image.low_skew} + std::min<std::uint64_t>(depth, 1u << 16) + 2
                : 0;
}

/// Pieces whose absence of circles means that there are none for any number.
std::optional<std::uint32_t> enough_pieces(const Image& image, std::uint64_t depth, std::uint64_t& spread) {
  const auto found = piece_spread(image, depth);
  if (!found) return std::nullopt;
  spread = *found;
  const std::uint64_t pieces = *found + 1 + margin(image, depth);
  if (image.work(pieces) > max_work) return std::nullopt;
  return static_cast<std::uint32_t>(pieces);
}

bool flows(const Image& image, std::uint64_t depth) {
  std::uint64_t spread = 0;
  const auto pieces = enough_pieces(image, depth, spread);
  return pieces && Walk(image, *pieces, depth).run(nullptr);
}

}  // namespace

std::uint64_t check_deadlock(const Image& image, Report& report, Observer* one_piece) {
  const std::uint64_t depth = image.header.depth;
  std::uint64_t spread = 0;
  const auto enough = enough_pieces(image, depth, spread);
  // Without a bound there is a circle as soon as there are enough pieces: look for it in ever longer runs.
  for (std::uint64_t pieces = enough.value_or(1);; pieces *= 2) {
    if (image.work(pieces) > max_work || pieces > (1u << 20)) break;
    Walk walk(image, static_cast<std::uint32_t>(pieces), depth);
    if (!walk.run(pieces == 1 ? one_piece : nullptr)) {
      const std::vector<Blocked> circle = walk.circle();
      report.add(Fault::deadlock, circle.front().step, describe_circle(image, circle));
      return 0;
    }
    if (!enough) continue;
    if (pieces > 1 && one_piece != nullptr) Walk(image, 1, depth).run(one_piece);
    return spread;
  }
  report.add_rank(Fault::deadlock, 0, "waits reach ever further ahead, so that a long message stops");
  return 0;
}

std::uint32_t least_safe_depth(const Image& image) {
  if (flows(image, 1)) return 1;
  const auto spread = piece_spread(image, never_full);
  if (!spread) return 0;
  // A link that holds the messages of that many pieces never makes its sender wait for longer than others do.
  const std::uint64_t unbounded = std::min<std::uint64_t>(longest_message_run(image) * (*spread + 2), none);
  std::uint64_t high = image.header.depth;
  while (!flows(image, high)) {
    if (high >= unbounded) return 0;
    high = std::min(2 * high, unbounded);
  }
  std::uint64_t low = 1;  // blocks; `high` flows
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (flows(image, middle) ? high : low) = middle;
  }
  return static_cast<std::uint32_t>(high);
}

}  // namespace rondo::verifier
