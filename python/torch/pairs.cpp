#include "pairs.hpp"

namespace rondo_torch {

Pair* Pairs::find(std::uint32_t peer) {
  const std::lock_guard lock(mutex_);
  const auto found = pairs_.find(peer);
  return found == pairs_.end() ? nullptr : found->second.get();
}

Pair& Pairs::make(const Group& of, std::uint32_t peer, std::optional<c10::DeviceType> accepted) {
  const std::lock_guard lock(mutex_);
  auto& pair = pairs_[peer];
  if (!pair) pair = std::make_unique<Pair>(of, peer, accepted);
  return *pair;
}

void Pairs::abort() {
  const std::lock_guard lock(mutex_);
  for (const auto& [peer, pair] : pairs_) {
    pair->device->abort();
    pair->group.abort();
  }
}

void Pairs::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [peer, pair] : pairs_) {
    pair->device->close();
    pair->group.close();
  }
}

}  // namespace rondo_torch
