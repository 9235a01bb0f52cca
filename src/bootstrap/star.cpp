#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/lifelines.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/own_address.hpp"

namespace rondo {
namespace {

// Where rank 0's deadline ends with this rank's, it is about to say who is missing: that is better than to blame rank 0.
constexpr std::int64_t verdict_grace_ns = 100'000'000;

/// Without descriptors all that rank 0 spreads goes at once: of p ranks a call of the kernel for each, and not p. The bundle is a length and bytes for each.
void pack(std::vector<std::byte>& bundle, const Address& address) {
  const std::uint64_t bytes = address.bytes.size();
  const auto* const head = reinterpret_cast<const std::byte*>(&bytes);
  bundle.insert(bundle.end(), head, head + sizeof bytes);
  bundle.insert(bundle.end(), address.bytes.begin(), address.bytes.end());
}

Result<void> send_bundle(int socket, const std::vector<std::byte>& bundle, std::int64_t deadline_ns) {
  const std::uint64_t bytes = bundle.size();
  auto sent = send_bytes(socket, &bytes, sizeof bytes, deadline_ns);
  return sent ? send_bytes(socket, bundle.data(), bytes, deadline_ns) : sent;
}

/// Of so many addresses, each no longer than a frame. Memory is taken as it comes in.
Result<Gathered> receive_bundle(int socket, std::uint32_t ranks, std::int64_t deadline_ns) {
  constexpr std::size_t step = std::size_t{1} << 20;
  std::uint64_t bytes = 0;
  if (auto came = receive_bytes(socket, &bytes, sizeof bytes, deadline_ns); !came) return came.error();
  if (bytes > ranks * (largest_frame + sizeof bytes)) return in_bootstrap(Errc::invalid_argument, "a round of " + std::to_string(bytes) + " bytes");
  std::vector<std::byte> bundle;
  while (bundle.size() < bytes) {
    const std::size_t begin = bundle.size(), part = std::min<std::uint64_t>(step, bytes - begin);
    bundle.resize(begin + part);
    if (auto came = receive_bytes(socket, bundle.data() + begin, part, deadline_ns); !came) return came.error();
  }
  Gathered all;
  std::size_t at = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t length = 0;
    const bool has_length = bundle.size() - at >= sizeof length;
    if (has_length) std::memcpy(&length, bundle.data() + at, sizeof length);
    at += sizeof length;
    if (!has_length || length > largest_frame || length > bundle.size() - at) return in_bootstrap(Errc::invalid_argument, "a round that ends too early");
    const auto begin = bundle.begin() + static_cast<std::ptrdiff_t>(at);
    all.push_back({{begin, begin + static_cast<std::ptrdiff_t>(length)}, {}});
    at += length;
  }
  return all;
}

/// Rounds through rank 0. Each answer begins with a verdict.
class Star final : public Bootstrap {
 public:
  Star(std::uint32_t rank, std::uint32_t size, std::vector<PeerSocket> peers, bool descriptors)
      : rank_(rank), size_(size), descriptors_(descriptors), peers_(std::move(peers)) {}

  bool passes_descriptors() const override { return descriptors_; }

  /// The network's choice: that end of a connection with rank 0, or of rank 0 with another.
  std::string own_address() const override {
    for (const PeerSocket& peer : peers_)
      if (peer.socket && !descriptors_) return address_of_end(peer.socket.get());
    return Bootstrap::own_address();
  }

  /// Between rounds a rank says nothing to rank 0, and rank 0 nothing to others but that it is over.
  bool is_over() override {
    std::vector<pollfd> entries;
    for (const PeerSocket& peer : peers_)
      if (peer.socket) entries.push_back({peer.socket.get(), static_cast<short>(rank_ == 0 ? POLLRDHUP : POLLIN | POLLRDHUP), 0});
    return poll(entries.data(), entries.size(), 0) > 0;
  }

  std::shared_ptr<Lifelines> into_lifelines() override {
    if (descriptors_) return nullptr;
    peers_.resize(size_);
    return std::make_shared<Lifelines>(std::move(peers_));
  }

  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override {
    return rank_ == 0 ? gather_and_spread(own, deadline_ns) : give_and_take(own, deadline_ns);
  }

 private:
  Result<Gathered> gather_and_spread(const Address& own, std::int64_t deadline_ns) {
    std::vector<Gathered> came(size_);  // one address each, so that what has come is closed on every way out
    for (std::uint32_t missing = size_ - 1; missing != 0; --missing) {
      auto rank = next_ready(came, deadline_ns);
      if (!rank) return tell_all(peers_, rank.error());
      auto frame = receive_frame(socket_of(*rank), deadline_ns);
      if (!frame) return tell_all(peers_, lost(*rank, peers_[*rank].whom, frame.error()));
      came[*rank].push_back(std::move(*frame));
    }
    crash_point("bootstrap: a round gathered");
    const auto from_rank = [&](std::uint32_t rank) -> const Address& { return rank == 0 ? own : came[rank][0]; };
    std::vector<std::byte> bundle;
    if (!descriptors_)
      for (std::uint32_t from = 0; from < size_; ++from) pack(bundle, from_rank(from));
    for (std::uint32_t to = 1; to < size_; ++to) {
      Result<void> sent = send_frame(socket_of(to), Address{}, deadline_ns);
      if (sent && !descriptors_) sent = send_bundle(socket_of(to), bundle, deadline_ns);
      for (std::uint32_t from = 0; sent && descriptors_ && from < size_; ++from) sent = send_frame(socket_of(to), from_rank(from), deadline_ns);
      if (!sent) return tell_all(peers_, lost(to, peers_[to].whom, sent.error()));
    }
    crash_point("bootstrap: a round spread");
    auto first = duplicate(own);
    if (!first) return first.error();
    Gathered all;
    all.push_back(std::move(*first));
    for (std::uint32_t rank = 1; rank < size_; ++rank) all.push_back(came[rank].take(0));
    return all;
  }

  Result<Gathered> give_and_take(const Address& own, std::int64_t deadline_ns) {
    crash_point("bootstrap: a round begun");
    const int first = socket_of(0);
    const auto sent = send_frame(first, own, deadline_ns);
    if (!sent && sent.error().code != Errc::io) return lost(0, peers_[0].whom, sent.error());
    // Rank 0 may have gone because of another rank: then it has said so, and that is there to be read all the same.
    const auto verdict = receive_frame(first, deadline_ns + verdict_grace_ns);
    if (!verdict) return lost(0, peers_[0].whom, verdict.error());
    if (auto good = unpack_verdict(*verdict); !good) return good.error();
    crash_point("bootstrap: a round is well");
    if (!descriptors_) {
      auto all = receive_bundle(first, size_, deadline_ns);
      return all ? std::move(all) : lost(0, peers_[0].whom, all.error());
    }
    Gathered all;
    for (std::uint32_t from = 0; from < size_; ++from) {
      auto frame = receive_frame(first, deadline_ns);
      if (!frame) return lost(0, peers_[0].whom, frame.error());
      all.push_back(std::move(*frame));
    }
    return all;
  }

  /// The next rank whose frame has come and isn't taken yet. Any other rank that hangs up meanwhile ends the round.
  Result<std::uint32_t> next_ready(const std::vector<Gathered>& have, std::int64_t deadline_ns) {
    for (;;) {
      std::vector<pollfd> entries;
      std::uint32_t late = 0;
      for (std::uint32_t rank = 1; rank < size_; ++rank) {
        entries.push_back({socket_of(rank), static_cast<short>(have[rank].empty() ? POLLIN : POLLRDHUP), 0});
        if (have[rank].empty() && late == 0) late = rank;
      }
      const std::int64_t left = deadline_ns - now_ns();
      if (left <= 0) return lost(late, peers_[late].whom, in_bootstrap(Errc::deadline_exceeded, ""));
      if (poll(entries.data(), entries.size(), static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000))) <= 0) continue;
      for (std::uint32_t rank = 1; rank < size_; ++rank)
        if (entries[rank - 1].revents != 0 && !have[rank].empty()) return lost(rank, peers_[rank].whom, in_bootstrap(Errc::io, "", ECONNRESET));
      // One that hung up before its frame was here is found in reading it.
      for (std::uint32_t rank = 1; rank < size_; ++rank)
        if (entries[rank - 1].revents != 0) return rank;
    }
  }

  int socket_of(std::uint32_t rank) const { return peers_[rank].socket.get(); }

  std::uint32_t rank_;
  std::uint32_t size_;
  bool descriptors_;
  std::vector<PeerSocket> peers_;  ///< rank 0: every other rank, by rank; others: [0] is rank 0
};

}  // namespace

std::unique_ptr<Bootstrap> make_star(std::uint32_t rank, std::uint32_t size, std::vector<PeerSocket> peers, bool descriptors) {
  return std::make_unique<Star>(rank, size, std::move(peers), descriptors);
}

}  // namespace rondo
