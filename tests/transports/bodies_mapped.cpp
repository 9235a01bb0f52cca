// Connecting, and what mapped transports promise.
#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "bodies.hpp"

using namespace rondo;

namespace {

constexpr std::int64_t mapping_patience_ns = 30'000'000'000;

std::string connect_all(Party& party) {
  auto connected = party.connect();
  return connected ? "" : to_string(connected.error());
}

std::atomic_ref<std::uint64_t> word(Party& party, std::uint32_t rank, std::uint32_t index) {
  return std::atomic_ref(reinterpret_cast<std::uint64_t*>(party.transport->segment(rank))[index * 8]);
}

bool reaches(std::atomic_ref<std::uint64_t> seen, std::uint64_t value) {
  for (const std::int64_t deadline = now_ns() + mapping_patience_ns; now_ns() < deadline;)
    if (seen.load(std::memory_order_acquire) == value) return true;
  return false;
}

}  // namespace

std::string connects(Party& party) {
  if (std::string wrong = connect_all(party); !wrong.empty()) return wrong;
  if (party.transport->name().empty()) return "it has no name";
  for (std::uint32_t rank = 0; rank < party.ranks; ++rank)
    if (party.transport->gone(rank)) return "rank " + std::to_string(rank) + " has gone";
  return party.meet();
}

std::string refuses_truncated_addresses(Party& party) {
  for (const std::size_t quarters : {0u, 2u, 3u}) {
    const auto refused = party.connect([&](std::vector<Address>& all) {
      auto& bytes = all[(party.rank + 1) % party.ranks].bytes;
      bytes.resize(bytes.size() * quarters / 4);
    });
    if (refused) return "an address of " + std::to_string(quarters) + " quarters was accepted";
    if (refused.error().code != Errc::invalid_argument) return to_string(refused.error());
    if (std::string wrong = party.meet(); !wrong.empty()) return wrong;
  }
  return connect_all(party);
}

std::string maps_zeroed_segments(Party& party) {
  if (std::string wrong = connect_all(party); !wrong.empty()) return wrong;
  Transport& transport = *party.transport;
  const std::uint64_t bytes = transport.segment_bytes();
  if (bytes == 0) return transport.segment(party.rank) == nullptr ? "" : "a segment without bytes";
  if (auto done = transport.commit(0, bytes); !done) return to_string(done.error());
  for (std::uint32_t rank = 0; rank < party.ranks; ++rank) {
    const std::byte* segment = transport.segment(rank);
    if (segment == nullptr) return "no segment of rank " + std::to_string(rank);
    if (!std::all_of(segment, segment + bytes, [](std::byte byte) { return byte == std::byte{0}; }))
      return "the segment of rank " + std::to_string(rank) + " isn't zeroed";
  }
  return party.meet();
}

std::string shows_atomic_writes(Party& party) {
  if (std::string wrong = connect_all(party); !wrong.empty()) return wrong;
  if (party.transport->segment_bytes() == 0) return "";
  constexpr std::uint64_t rounds = 50;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    word(party, party.rank, 0).store(round, std::memory_order_release);
    for (std::uint32_t peer = 0; peer < party.ranks; ++peer) {
      if (!reaches(word(party, peer, 0), round)) return "a write of rank " + std::to_string(peer) + " was not seen";
      if (peer != party.rank) word(party, peer, 1).fetch_add(1, std::memory_order_acq_rel);
    }
    if (!reaches(word(party, party.rank, 1), round * (party.ranks - 1))) return "a peer's write here was not seen";
    if (std::string wrong = party.meet(); !wrong.empty()) return wrong;
  }
  return "";
}
