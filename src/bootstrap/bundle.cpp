#include "bootstrap/bundle.hpp"

#include <cstring>

#include "bootstrap/frame.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

/// Shows `each` the bytes of every rank; false where they aren't those of so many.
template <class Each>
bool read_bundle(const Address& bundle, std::uint32_t ranks, const Each& each) {
  const std::byte *at = bundle.bytes.data(), *const end = at + bundle.bytes.size();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t bytes = 0;
    if (static_cast<std::size_t>(end - at) < sizeof bytes) return false;
    std::memcpy(&bytes, at, sizeof bytes);
    at += sizeof bytes;
    if (bytes > static_cast<std::uint64_t>(end - at)) return false;
    each(at, at + bytes);
    at += bytes;
  }
  return at == end;
}

}  // namespace

std::uint64_t largest_bundle(std::uint32_t ranks) { return ranks * (largest_frame + sizeof(std::uint64_t)); }

void add_to_bundle(Address& bundle, const Address& given) {
  const std::uint64_t bytes = given.bytes.size();
  const auto* const head = reinterpret_cast<const std::byte*>(&bytes);
  bundle.bytes.insert(bundle.bytes.end(), head, head + sizeof bytes);
  bundle.bytes.insert(bundle.bytes.end(), given.bytes.begin(), given.bytes.end());
}

bool is_bundle(const Address& bundle, std::uint32_t ranks) {
  return read_bundle(bundle, ranks, [](const std::byte*, const std::byte*) {});
}

Result<Gathered> open_bundle(const Address& bundle, std::uint32_t ranks) {
  Gathered all;
  const bool whole = read_bundle(bundle, ranks, [&all](const std::byte* begin, const std::byte* end) { all.push_back({{begin, end}, {}}); });
  if (!whole) return in_bootstrap(Errc::invalid_argument, "a round that isn't one of " + std::to_string(ranks) + " ranks");
  return all;
}

}  // namespace rondo
