#include "communicator/last_words.hpp"

#include <algorithm>
#include <cstring>

namespace rondo {

void leave_last_words(Transport& transport, std::uint32_t rank, StatusLine& status, const Error& error) {
  if (transport.segment_bytes() == 0) return;
  const std::uint64_t offset = transport.segment_bytes() - last_words_bytes;
  if (!transport.commit(offset, last_words_bytes)) return;
  const std::uint64_t length = std::min<std::uint64_t>(error.detail.size(), last_words_bytes);
  std::memcpy(transport.segment(rank) + offset, error.detail.data(), length);
  const std::uint64_t code = static_cast<std::uint64_t>(error.code);
  status.failure.store(code << 32 | length, std::memory_order_relaxed);
}

}  // namespace rondo
