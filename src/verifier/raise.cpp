#include "verifier/raise.hpp"

#include <algorithm>

#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "verifier/raise.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rondo::verifier::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void raise_vectors(std::uint32_t* mine, const std::uint32_t* theirs, std::size_t count) {
  const hn::ScalableTag<std::uint32_t> words;
  const std::size_t lanes = hn::Lanes(words);
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) hn::StoreU(hn::Max(hn::LoadU(words, mine + k), hn::LoadU(words, theirs + k)), words, mine + k);
  for (; k < count; ++k) mine[k] = std::max(mine[k], theirs[k]);
}

}  // namespace rondo::verifier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::verifier {
HWY_EXPORT(raise_vectors);

void raise(std::uint32_t* mine, const std::uint32_t* theirs, std::size_t count) {
  constexpr std::size_t few = 32;  // choosing the instructions would cost as much
  if (count > few) return HWY_DYNAMIC_DISPATCH(raise_vectors)(mine, theirs, count);
  for (std::size_t k = 0; k < count; ++k) mine[k] = std::max(mine[k], theirs[k]);
}

}  // namespace rondo::verifier
#endif
