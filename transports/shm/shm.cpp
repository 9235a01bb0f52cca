#include "transports/shm/shm.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "base/live_fd.hpp"
#include "transports/shm/segment.hpp"
#include "transports/shm/watcher.hpp"

namespace rondo {
namespace {

/// What the bytes of an address hold; the descriptors are the segment and the lifeline's read end.
struct ShmAddress {
  std::uint64_t segment_bytes;
};

Error no_means_to_watch(std::uint32_t rank, int number) {
  if (number == EAGAIN)
    return Error{Errc::out_of_resources, "no thread left to watch ranks with (limits: ulimit -u, the control group's pids.max)", number, "shm"};
  return no_descriptor_left("watch rank " + std::to_string(rank) + " with", number, "shm");
}

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const ShmOptions& options)
      : options_(options), note_(std::make_shared<std::vector<std::atomic<bool>>>(options.ranks)) {}

  ~ShmTransport() override {
    for (const Fd& lifeline : peer_lifelines_) {
      crash_point("farewell: a lifeline unwatched");
      if (lifeline) unwatch_lifeline(lifeline.get());
    }
  }

  std::string_view name() const override { return "shm"; }

  Result<Address> address() override {
    auto segment = SharedSegment::create(options_.segment_bytes);
    if (!segment) return segment.error();
    own_ = std::move(*segment);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return no_descriptor_left("make this rank's lifeline with", errno, "shm");
    crash_point("connect: lifeline made");
    lifeline_ = LiveFd(Fd(ends[1]));
    offered_.reset(ends[0]);
    Address address;
    const ShmAddress bytes{options_.segment_bytes};
    address.bytes.resize(sizeof bytes);
    std::memcpy(address.bytes.data(), &bytes, sizeof bytes);
    address.descriptors = {own_.fd(), offered_.get()};
    return address;
  }

  Result<void> connect(const std::vector<Address>& all, std::int64_t /*deadline_ns*/) override {
    peers_.resize(all.size());
    peer_lifelines_.resize(all.size());
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
      if (rank == options_.rank) continue;
      if (all[rank].descriptors.size() != 2 || all[rank].bytes.size() != sizeof(ShmAddress))
        return Error{Errc::invalid_argument, "rank " + std::to_string(rank) + " sent no usable shared-memory address", 0, "shm"};
      auto mapped = SharedSegment::map(all[rank].descriptors[0], options_.segment_bytes);
      if (!mapped) {
        mapped.error().detail = "rank " + std::to_string(rank) + ": " + mapped.error().detail;
        return mapped.error();
      }
      crash_point("connect: a peer's segment mapped");
      peers_[rank] = std::move(*mapped);
      peer_lifelines_[rank].reset(fcntl(all[rank].descriptors[1], F_DUPFD_CLOEXEC, 0));
      if (!peer_lifelines_[rank] || !watch_lifeline(peer_lifelines_[rank].get(), rank, note_))
        return no_means_to_watch(rank, errno);
      crash_point("connect: a peer watched");
    }
    offered_.reset();
    return {};
  }

  std::byte* segment(std::uint32_t rank) override { return rank == options_.rank ? own_.data() : peers_[rank].data(); }
  std::uint64_t segment_bytes() const override { return options_.segment_bytes; }
  Result<void> commit(std::uint64_t offset, std::uint64_t bytes) override { return own_.commit(offset, bytes); }
  void give_back(std::uint64_t offset, std::uint64_t bytes) override { own_.give_back(offset, bytes); }

  // pairs with the watcher's release: whoever sees that the rank has gone sees its segment's last words
  bool gone(std::uint32_t rank) const override { return (*note_)[rank].load(std::memory_order_acquire); }

 private:
  ShmOptions options_;
  SharedSegment own_;
  std::vector<SharedSegment> peers_;
  LiveFd lifeline_;  ///< write end: held while this rank lives, so that its closing tells the others
  Fd offered_;   ///< read end, until the peers have theirs
  std::vector<Fd> peer_lifelines_;
  DeathNote note_;
};

}  // namespace

std::unique_ptr<Transport> make_shm_transport(const ShmOptions& options) { return std::make_unique<ShmTransport>(options); }

Result<void> probe_shm(std::string_view own_host, std::string_view peer_host) {
  if (own_host == peer_host) return {};
  return Error{Errc::unsupported,
               "shared memory needs one machine; the ranks are on '" + std::string(own_host) + "' and '" +
                   std::string(peer_host) + "'",
               0, "shm"};
}

}  // namespace rondo
