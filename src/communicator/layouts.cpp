#include "communicator/layouts.hpp"

#include <algorithm>
#include <cstdlib>

#include "communicator/board.hpp"

namespace rondo {
namespace {

constexpr ContextLayout for_large_share{128, 32, 0};
constexpr ContextLayout for_small_share{16, 11, 0};  // its control words fill one page
constexpr ContextLayout for_pair{2, 25, 0};          // likewise
constexpr std::uint64_t least_large_share = std::uint64_t{128} << 10;
constexpr std::uint64_t largest_pair_half = std::uint64_t{128} << 10;

}  // namespace

std::uint64_t least_share() { return for_small_share.control_bytes() + 2 * area_page; }

ContextLayout main_layout(std::uint64_t share_bytes) {
  if (share_bytes < least_share()) std::abort();  // a bug: shares are never smaller, and those of peers were checked
  ContextLayout layout = share_bytes >= least_large_share ? for_large_share : for_small_share;
  layout.half_bytes = (share_bytes - layout.control_bytes()) / 2 / area_page * area_page;
  return layout;
}

ContextLayout pair_layout(std::uint64_t share_bytes, std::uint32_t ranks) {
  ContextLayout layout = for_pair;
  // A rank that sends to everybody takes a quarter of its share besides.
  const std::uint64_t even = share_bytes / 8 / std::max(1u, ranks - 1) / area_page * area_page;
  layout.half_bytes = std::clamp(even, area_page, largest_pair_half);
  return layout;
}

std::uint64_t board_offset(const ContextLayout& main, const ContextLayout& pair, std::uint32_t ranks) {
  return main.total_bytes() + std::uint64_t{2} * ranks * pair.total_bytes();
}

std::uint64_t segment_bytes(std::uint64_t share_bytes, std::uint32_t ranks) {
  return board_offset(main_layout(share_bytes), pair_layout(share_bytes, ranks), ranks) + board_bytes(ranks) + last_words_bytes;
}

PlanLimits limits_of(const ContextLayout& layout) {
  PlanLimits limits;
  limits.staging_bytes = layout.half_bytes;
  limits.inline_bytes = layout.inline_lines * inline_payload;
  return limits;
}

}  // namespace rondo
