// Communicators of this rank and one other on a device's memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "device.hpp"
#include "group.hpp"

namespace rondo_torch {

/// Two ranks of a group. Both make it with the first message between them that came before the group's first call on a device; it is for all such messages
/// between them from then on.
struct Pair {
  Pair(const Group& of, std::uint32_t peer, std::optional<c10::DeviceType> accepted) : group(of, peer), device(std::make_shared<DeviceGroup>(accepted)) {}
  Group group;
  const std::shared_ptr<DeviceGroup> device;  ///< shared with works
};

/// A group's pairs, by the peer. Thread-safe.
class Pairs {
 public:
  /// Null: there is none yet.
  Pair* find(std::uint32_t peer);
  Pair& make(const Group& of, std::uint32_t peer, std::optional<c10::DeviceType> accepted);
  void abort();
  /// They stay, to refuse what is still called.
  void close();

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<Pair>> pairs_;
};

}  // namespace rondo_torch
