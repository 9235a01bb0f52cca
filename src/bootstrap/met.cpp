#include "bootstrap/met.hpp"

#include "bootstrap/lifelines.hpp"
#include "bootstrap/own_address.hpp"

namespace rondo {
namespace {

class MetBootstrap final : public Bootstrap {
 public:
  explicit MetBootstrap(std::unique_ptr<Correspondence> correspondence) : correspondence_(std::move(correspondence)) {}

  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override { return correspondence_->all_gather(own, deadline_ns); }
  bool is_over() override { return correspondence_->is_over(); }
  bool passes_descriptors() const override { return correspondence_->passes_descriptors(); }

  /// The network's choice: that end of a connection with rank 0, or of rank 0 with another.
  std::string own_address() const override {
    return passes_descriptors() || correspondence_->socket() < 0 ? Bootstrap::own_address() : address_of_end(correspondence_->socket());
  }

  std::shared_ptr<Lifelines> into_lifelines() override {
    return passes_descriptors() ? nullptr : std::make_shared<Lifelines>(correspondence_->take_peers());
  }

 private:
  std::unique_ptr<Correspondence> correspondence_;
};

}  // namespace

std::unique_ptr<Bootstrap> make_met_bootstrap(std::unique_ptr<Correspondence> correspondence) {
  return std::make_unique<MetBootstrap>(std::move(correspondence));
}

}  // namespace rondo
