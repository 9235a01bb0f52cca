#include "communicator/group_transport.hpp"

#include <utility>

namespace rondo {
namespace {

class GroupTransport final : public Transport {
 public:
  GroupTransport(std::shared_ptr<Family> family, std::vector<GroupMember> members, std::uint32_t own, std::uint64_t bytes)
      : family_(std::move(family)), members_(std::move(members)), own_(own), bytes_(bytes) {}

  std::string_view name() const override { return family_->transport().name(); }
  Result<Address> address() override { return Address{}; }
  Result<void> connect(const std::vector<Address>& /*all*/, std::int64_t /*deadline_ns*/) override { return {}; }

  std::byte* segment(std::uint32_t rank) override { return family_->transport().segment(members_[rank].rank) + members_[rank].offset; }
  std::uint64_t segment_bytes() const override { return bytes_; }
  Result<void> commit(std::uint64_t offset, std::uint64_t bytes) override { return family_->transport().commit(members_[own_].offset + offset, bytes); }
  void give_back(std::uint64_t offset, std::uint64_t bytes) override { family_->transport().give_back(members_[own_].offset + offset, bytes); }
  bool gone(std::uint32_t rank) const override { return family_->transport().gone(members_[rank].rank); }

 private:
  const std::shared_ptr<Family> family_;  // shared: the communicator that it was split from may end first
  const std::vector<GroupMember> members_;
  const std::uint32_t own_;
  const std::uint64_t bytes_;
};

}  // namespace

std::shared_ptr<Transport> make_group_transport(std::shared_ptr<Family> family, std::vector<GroupMember> members, std::uint32_t own, std::uint64_t bytes) {
  return std::make_shared<GroupTransport>(std::move(family), std::move(members), own, bytes);
}

}  // namespace rondo
