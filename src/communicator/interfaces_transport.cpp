#include "communicator/interfaces_transport.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "communicator/status_links.hpp"

namespace rondo {
namespace {

class InterfacesTransport final : public Transport {
 public:
  InterfacesTransport(std::vector<std::unique_ptr<Transport>> links, Interfaces interfaces, std::uint32_t rank)
      : links_(std::move(links)), interfaces_(std::move(interfaces)), rank_(rank) {}

  std::string_view name() const override { return links_.front()->name(); }

  /// All of them, which are of one length, one behind the other.
  Result<Address> address() override {
    Address all;
    for (const auto& links : links_) {
      auto own = links->address();
      if (!own) return own;
      all.bytes.insert(all.bytes.end(), own->bytes.begin(), own->bytes.end());
    }
    return all;
  }

  Result<void> connect(const std::vector<Address>& all, std::int64_t deadline_ns) override {
    const auto count = static_cast<std::ptrdiff_t>(links_.size());
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      std::vector<Address> there(all.size());
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const auto& bytes = all[rank].bytes;
        const std::ptrdiff_t length = static_cast<std::ptrdiff_t>(bytes.size()) / count;  // one that can't be right the links refuse
        there[rank].bytes.assign(bytes.begin() + k * length, bytes.begin() + (k + 1) * length);
      }
      if (auto connected = links_[static_cast<std::size_t>(k)]->connect(there, deadline_ns); !connected) return connected;
    }
    return {};
  }

  Message send_slot(std::uint32_t peer, std::uint32_t channel, std::uint64_t bytes) override { return by(peer, channel).send_slot(peer, channel, bytes); }
  void post(std::uint32_t peer, std::uint32_t channel) override { by(peer, channel).post(peer, channel); }
  Message receive_slot(std::uint32_t peer, std::uint32_t channel) override { return by(peer, channel).receive_slot(peer, channel); }
  void release(std::uint32_t peer, std::uint32_t channel) override { by(peer, channel).release(peer, channel); }
  bool idle(std::uint32_t peer, std::uint32_t channel) override { return by(peer, channel).idle(peer, channel); }
  void call(std::uint32_t peer) override { by(peer, 0).call(peer); }

  void progress() override {
    for (const auto& links : links_) links->progress();
  }
  void leave() override {
    for (const auto& links : links_) links->leave();
  }
  bool connected(std::uint32_t peer) const override {
    return std::any_of(links_.begin(), links_.end(), [peer](const auto& links) { return links->connected(peer); });
  }
  std::optional<Error> refusal(std::uint32_t peer) const override {
    for (const auto& links : links_)
      if (auto refusal = links->refusal(peer)) return refusal;
    return std::nullopt;
  }
  bool gone(std::uint32_t rank) const override {
    return std::any_of(links_.begin(), links_.end(), [rank](const auto& links) { return links->gone(rank); });
  }

 private:
  /// Each use of channels begins anew, so that notices go where a plan's first channel does.
  Transport& by(std::uint32_t peer, std::uint32_t channel) { return *links_[interfaces_.between(rank_, peer, channel % channels_per_use)]; }

  const std::vector<std::unique_ptr<Transport>> links_;
  const Interfaces interfaces_;
  const std::uint32_t rank_;
};

}  // namespace

std::unique_ptr<Transport> make_interfaces_transport(std::vector<std::unique_ptr<Transport>> links, Interfaces interfaces, std::uint32_t rank) {
  return std::make_unique<InterfacesTransport>(std::move(links), std::move(interfaces), rank);
}

}  // namespace rondo
