#include "communicator/hosts_transport.hpp"

#include <string>
#include <utility>

namespace rondo {
namespace {

constexpr std::uint32_t elsewhere = ~std::uint32_t{0};

class HostsTransport final : public Transport {
 public:
  HostsTransport(std::shared_ptr<Transport> memory, std::shared_ptr<Transport> links, const std::vector<std::uint32_t>& hosts, std::uint32_t rank)
      : memory_(std::move(memory)),
        links_(std::move(links)),
        name_(std::string(memory_->name()) + "+" + std::string(links_->name())),
        places_(hosts.size(), elsewhere) {
    std::uint32_t place = 0;
    for (const std::uint32_t neighbour : ranks_of_host(hosts, rank)) places_[neighbour] = place++;
  }

  std::string_view name() const override { return name_; }
  Result<Address> address() override { return links_->address(); }
  Result<void> connect(const std::vector<Address>& all, std::int64_t deadline_ns) override { return links_->connect(all, deadline_ns); }

  std::byte* segment(std::uint32_t rank) override { return places_[rank] == elsewhere ? nullptr : memory_->segment(places_[rank]); }
  std::uint64_t segment_bytes() const override { return memory_->segment_bytes(); }
  Result<void> commit(std::uint64_t offset, std::uint64_t bytes) override { return memory_->commit(offset, bytes); }
  void give_back(std::uint64_t offset, std::uint64_t bytes) override { memory_->give_back(offset, bytes); }

  Message send_slot(std::uint32_t peer, std::uint32_t channel, std::uint64_t bytes) override { return links_->send_slot(peer, channel, bytes); }
  void post(std::uint32_t peer, std::uint32_t channel) override { links_->post(peer, channel); }
  Message receive_slot(std::uint32_t peer, std::uint32_t channel) override { return links_->receive_slot(peer, channel); }
  void release(std::uint32_t peer, std::uint32_t channel) override { links_->release(peer, channel); }
  void progress() override { links_->progress(); }
  bool idle(std::uint32_t peer, std::uint32_t channel) override { return links_->idle(peer, channel); }
  bool connected(std::uint32_t peer) const override { return links_->connected(peer); }
  void call(std::uint32_t peer) override {
    if (places_[peer] == elsewhere) links_->call(peer);
  }
  std::optional<Error> refusal(std::uint32_t peer) const override { return links_->refusal(peer); }

  void leave() override { links_->leave(); }

  bool gone(std::uint32_t rank) const override { return places_[rank] == elsewhere ? links_->gone(rank) : memory_->gone(places_[rank]); }

 private:
  const std::shared_ptr<Transport> memory_;  // shared: a split communicator's is its family's
  const std::shared_ptr<Transport> links_;
  const std::string name_;
  std::vector<std::uint32_t> places_;  // by rank: its number in memory_, or elsewhere
};

}  // namespace

std::unique_ptr<Transport> make_hosts_transport(std::shared_ptr<Transport> memory, std::shared_ptr<Transport> links, const std::vector<std::uint32_t>& hosts,
                                                std::uint32_t rank) {
  return std::make_unique<HostsTransport>(std::move(memory), std::move(links), hosts, rank);
}

std::vector<std::uint32_t> ranks_of_host(const std::vector<std::uint32_t>& hosts, std::uint32_t rank) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t other = 0; other < hosts.size(); ++other)
    if (hosts[other] == hosts[rank]) ranks.push_back(other);
  return ranks;
}

}  // namespace rondo
