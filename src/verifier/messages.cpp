#include "verifier/messages.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace rondo::verifier {
namespace {

std::string link_name(const Link& link) {
  return "the link from rank " + std::to_string(link.from) + " to rank " + std::to_string(link.to) + ", channel " +
         std::to_string(link.channel);
}

std::uint32_t skew_range(const std::vector<LinkMessage>& ends, std::uint32_t first, std::uint32_t count) {
  return ends[first + count - 1].skew - ends[first].skew;
}

/// With unequal skews messages of neighbouring pieces may pass one another. Their order repeats once pieces are further
/// apart than the skews.
void check_order(const Image& image, const Link& link, Report& report) {
  const std::uint32_t count = link.send_count;
  if (even(image.sends, link.first_send, count) && even(image.receives, link.first_receive, count)) return;
  const std::uint32_t pieces = 2 + std::max(skew_range(image.sends, link.first_send, count),
                                            skew_range(image.receives, link.first_receive, count));
  if (std::uint64_t{pieces} * count > max_work)
    return report.add_rank(Fault::malformed, link.from, "too many messages of unequal skews on " + link_name(link));
  const auto sent = passing(image.sends, link.first_send, count, pieces);
  const auto received = passing(image.receives, link.first_receive, count, pieces);
  for (std::size_t n = 0; n < sent.size(); ++n)
    if (sent[n] != received[n])
      return report.add(Fault::unmatched_message, image.receives[link.first_receive + received[n].message].step,
                        "for piece " + std::to_string(received[n].piece) + " it receives what " +
                            where(image, image.sends[link.first_send + sent[n].message].step) + " sends for piece " +
                            std::to_string(sent[n].piece) + ", because their skews differ");
}

}  // namespace

bool even(const std::vector<LinkMessage>& ends, std::uint32_t first, std::uint32_t count) {
  return skew_range(ends, first, count) == 0;
}

std::vector<Passing> passing(const std::vector<LinkMessage>& ends, std::uint32_t first, std::uint32_t count,
                             std::uint32_t pieces) {
  std::vector<Passing> order;
  order.reserve(std::size_t{count} * pieces);
  for (std::uint32_t piece = 0; piece < pieces; ++piece)
    for (std::uint32_t m = 0; m < count; ++m) order.push_back({m, piece});
  if (!even(ends, first, count))
    std::sort(order.begin(), order.end(), [&](const Passing& a, const Passing& b) {
      const auto turn = [&](const Passing& p) {
        return std::tuple(p.piece + ends[first + p.message].skew, ends[first + p.message].step);
      };
      return turn(a) < turn(b);
    });
  return order;
}

void check_messages(const Image& image, Report& report) {
  for (const Link& link : image.links) {
    const std::uint32_t common = std::min(link.send_count, link.receive_count);
    bool fine = true;
    for (std::uint32_t m = 0; m < common && fine; ++m) {
      const LinkMessage& send = image.sends[link.first_send + m];
      const LinkMessage& receive = image.receives[link.first_receive + m];
      if (send.count == receive.count) continue;
      fine = false;
      report.add(Fault::unmatched_message, receive.step,
                 "receives " + std::to_string(receive.count) + " chunks on " + link_name(link) + ", where " +
                     where(image, send.step) + " sends " + std::to_string(send.count));
    }
    if (!fine) continue;
    if (link.send_count > common)
      report.add(Fault::unmatched_message, image.sends[link.first_send + common].step,
                 "sends on " + link_name(link) + ", where nobody receives message " + std::to_string(common));
    else if (link.receive_count > common)
      report.add(Fault::unmatched_message, image.receives[link.first_receive + common].step,
                 "receives on " + link_name(link) + ", where nobody sends message " + std::to_string(common));
    else
      check_order(image, link, report);
  }
}

}  // namespace rondo::verifier
