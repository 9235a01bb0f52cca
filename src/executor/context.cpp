#include "executor/context.hpp"

#include "plan/limits.hpp"

namespace rondo {

static_assert(plan::max_once <= sizeof(OnceLines::words) / sizeof(SharedWord), "a plan may name any word that check_form lets it");

std::uint32_t CallIdentity::digest() const {
  // A multiplicative mix: cheap, and computed once per cached executable, not per call.
  std::uint64_t mixed = what() * 0x9e3779b97f4a7c15u;
  for (const std::uint64_t word : {count, std::uint64_t{root}, plan_hash}) mixed = ((mixed ^ word) * 0xff51afd7ed558ccdu) ^ (mixed >> 29);
  const auto folded = static_cast<std::uint32_t>(mixed ^ (mixed >> 32));
  return folded == 0 ? 1 : folded;
}

Context::Context(ContextLayout layout, std::uint32_t rank, std::vector<std::byte*> areas, std::vector<std::uint32_t> members,
                 Transport* transport, std::uint32_t first_channel)
    : entered(areas.size(), 0),
      layout_(layout),
      rank_(rank),
      areas_(std::move(areas)),
      members_(std::move(members)),
      written_alone_(areas_.size(), 0),
      transport_(transport),
      first_channel_(first_channel) {
  for (std::uint64_t parity = 0; parity < 2; ++parity) {
    inline_lines_[parity] = layout_.inline_line(parity, 0);
    bases_[parity].assign(base_count(static_cast<std::uint32_t>(areas_.size())), nullptr);
    for (std::size_t r = 0; r < areas_.size(); ++r)
      if (areas_[r] != nullptr) bases_[parity][base_staging + r] = areas_[r] + layout_.staging(parity);
  }
}

}  // namespace rondo
