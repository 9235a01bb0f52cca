// What message transports promise, and how any transport's going is seen.
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "bodies.hpp"

using namespace rondo;

namespace {

constexpr std::int64_t message_patience_ns = 20'000'000'000;
constexpr std::uint32_t ordered_channels = 3;
constexpr std::uint64_t sizes[] = {0, 1, 8, 4u << 20, 7, 8191, 0, 65'536, 1u << 20, 63, 70'001, 1000, 64, 2};

std::byte filling(std::uint32_t sender, std::uint32_t channel, std::uint64_t number) {
  return static_cast<std::byte>(sender * 71 + channel * 13 + number + 1);
}

/// True when it went out.
bool send(Transport& transport, std::uint32_t self, std::uint32_t peer, std::uint32_t channel, std::uint64_t number,
          std::uint64_t bytes) {
  const Message message = transport.send_slot(peer, channel, bytes);
  if (message.payload == nullptr) return false;
  for (std::uint64_t i = 0; i < Message::header_words; ++i) message.header[i] = number * 100 + i;
  std::fill_n(message.payload, bytes, filling(self, channel, number));
  transport.post(peer, channel);
  return true;
}

enum class Arrival { none, right, wrong };

Arrival receive(Transport& transport, std::uint32_t peer, std::uint32_t channel, std::uint64_t number,
                std::uint64_t bytes) {
  const Message message = transport.receive_slot(peer, channel);
  if (message.payload == nullptr) return Arrival::none;
  bool right = message.bytes == bytes;
  for (std::uint64_t i = 0; i < Message::header_words; ++i) right &= message.header[i] == number * 100 + i;
  const std::byte expected = filling(peer, channel, number);
  right =
      right && std::all_of(message.payload, message.payload + bytes, [&](std::byte byte) { return byte == expected; });
  transport.release(peer, channel);
  return right ? Arrival::right : Arrival::wrong;
}

/// Turns the crank until `done` says so; "" or that it took too long.
std::string turn_until(Transport& transport, const char* what, const std::function<bool()>& done) {
  const std::int64_t deadline_ns = now_ns() + message_patience_ns;
  while (!done()) {
    if (now_ns() > deadline_ns) return std::string("took too long: ") + what;
    transport.progress();
  }
  return "";
}

/// Connects; false where the body has nothing to do (an error, or a mapped transport).
bool starts(Party& party, std::string& wrong) {
  if (auto connected = party.connect(); !connected) wrong = to_string(connected.error());
  return wrong.empty() && party.transport->segment_bytes() == 0;
}

/// One link's two directions, as one rank sees them.
struct Link {
  std::uint32_t peer;
  std::uint32_t channel;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

std::vector<Link> all_links(const Party& party, std::uint32_t channel_count) {
  std::vector<Link> links;
  for (std::uint32_t peer = 0; peer < party.ranks; ++peer)
    for (std::uint32_t channel = 0; peer != party.rank && channel < channel_count; ++channel)
      links.push_back({peer, channel});
  return links;
}

/// Sends and receives `count` messages on all links at once.
std::string exchange(Party& party, std::vector<Link> links, std::uint64_t count) {
  std::string wrong;
  const auto step = [&](Link& link) {
    if (link.sent < count && send(*party.transport, party.rank, link.peer, link.channel, link.sent, sizes[link.sent]))
      ++link.sent;
    if (link.received == count) return;
    const Arrival arrival = receive(*party.transport, link.peer, link.channel, link.received, sizes[link.received]);
    if (arrival == Arrival::wrong)
      wrong = "message " + std::to_string(link.received) + " from rank " + std::to_string(link.peer) + " on channel " +
              std::to_string(link.channel) + " is not the one expected";
    link.received += arrival == Arrival::right;
  };
  const std::string slow = turn_until(*party.transport, "the exchange", [&] {
    for (Link& link : links) step(link);
    return !wrong.empty() || std::all_of(links.begin(), links.end(), [&](const Link& link) {
      return link.sent == count && link.received == count && party.transport->idle(link.peer, link.channel);
    });
  });
  return wrong.empty() ? slow : wrong;
}

}  // namespace

std::string keeps_order(Party& party) {
  std::string wrong;
  if (!starts(party, wrong)) return wrong;
  wrong = exchange(party, all_links(party, ordered_channels), std::size(sizes));
  return wrong.empty() ? party.meet() : wrong;
}

std::string holds_back_the_sender(Party& party) {
  std::string wrong;
  if (!starts(party, wrong)) return wrong;
  constexpr std::uint64_t bytes = 1u << 20;
  constexpr std::uint64_t enough = 64;
  Transport& transport = *party.transport;
  std::uint64_t sent = 0;
  if (party.rank == 0) {
    while (sent < enough && send(transport, 0, 1, 0, sent, bytes)) ++sent;
    if (sent == 0 || sent == enough) wrong = std::to_string(sent) + " messages went out before the receiver came";
  }
  if (std::string missing = party.meet(); !missing.empty()) return missing;
  if (!wrong.empty()) return wrong;
  if (party.rank == 0) {
    wrong = turn_until(transport, "a free slot", [&] {
      if (sent < enough) sent += send(transport, 0, 1, 0, sent, bytes);
      return sent == enough && transport.idle(1, 0);
    });
  } else if (party.rank == 1) {
    std::uint64_t received = 0;
    wrong = turn_until(transport, "the messages", [&] {
      const Arrival arrival = receive(transport, 0, 0, received, bytes);
      received += arrival != Arrival::none;
      return arrival == Arrival::wrong || received == enough;
    });
    if (wrong.empty() && received != enough) wrong = "message " + std::to_string(received - 1) + " is wrong";
  }
  return wrong.empty() ? party.meet() : wrong;
}

std::string is_idle_only_when_all_has_left(Party& party) {
  std::string wrong;
  if (!starts(party, wrong)) return wrong;
  constexpr std::uint64_t messages = 4;
  constexpr std::uint64_t bytes = 2u << 20;
  Transport& transport = *party.transport;
  if (party.rank == 0) {
    std::uint64_t sent = 0;
    wrong = turn_until(transport, "idle()", [&] {
      if (sent < messages) sent += send(transport, 0, 1, 0, sent, bytes);
      return sent == messages && transport.idle(1, 0);
    });
  } else if (party.rank == 1) {
    std::uint64_t received = 0;
    wrong = turn_until(transport, "messages of a rank that was idle", [&] {
      return (received += receive(transport, 0, 0, received, bytes) == Arrival::right) == messages;
    });
  }
  // rank 0 sits here, turning no crank, while rank 1 still receives
  return wrong.empty() ? party.meet() : wrong;
}

std::string leaves_with_messages_nobody_takes(Party& party) {
  std::string wrong;
  if (!starts(party, wrong)) return wrong;
  wrong = exchange(party, all_links(party, 1), 3);
  if (!wrong.empty()) return wrong;
  if (party.rank == 0)
    for (std::uint64_t number = 0; number < 2; ++number) send(*party.transport, 0, 1, 0, number, 1u << 20);
  if (std::string missing = party.meet(); !missing.empty()) return missing;
  if (party.rank == 0) party.transport.reset();
  return party.meet();
}

PartyBody sees_departure(Departure departure, bool after_traffic, double notice_seconds) {
  return [=](Party& party) -> std::string {
    if (auto connected = party.connect(); !connected) return to_string(connected.error());
    // Links are made by their first message; before that UCX may abort when the other side goes.
    if (party.transport->segment_bytes() == 0)
      if (std::string wrong = exchange(party, all_links(party, 1), after_traffic ? 3 : 1); !wrong.empty()) return wrong;
    if (std::string missing = party.meet(); !missing.empty()) return missing;
    if (party.rank == 1) {
      if (departure == Departure::killed) raise(SIGKILL);
      party.transport.reset();
      return party.meet();
    }
    const std::int64_t begin_ns = now_ns();
    const std::string slow = turn_until(*party.transport, "gone()", [&] { return party.transport->gone(1); });
    const double seconds = static_cast<double>(now_ns() - begin_ns) / 1e9;
    if (!slow.empty()) return slow;
    if (seconds > notice_seconds) return "noticed after " + std::to_string(seconds) + " s";
    const std::uint32_t other = party.rank == 0 ? 2 : 0;
    if (departure == Departure::left && party.transport->gone(other)) return "a rank that is there was called gone";
    return departure == Departure::left ? party.meet() : "";
  };
}
