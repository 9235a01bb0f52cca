// Some of a transport's ranks, each with a part of its segment: what a split communicator has instead of a transport of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/family.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// A member of a group.
struct GroupMember {
  std::uint32_t rank = 0;    ///< in the family's transport
  std::uint64_t offset = 0;  ///< of its part in its segment
};

/// Ranks are those of `members`; each part has `bytes`. Set up when it is made: address() and connect() have nothing to do.
std::shared_ptr<Transport> make_group_transport(std::shared_ptr<Family> family, std::vector<GroupMember> members, std::uint32_t own, std::uint64_t bytes);

}  // namespace rondo
