// Who may make a copy that ranks share out (Step::once): all that come to it but those who come after another one, and so find it taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "verifier/clocks.hpp"
#include "verifier/image.hpp"

namespace rondo::verifier {

class Sharing {
 public:
  Sharing(const Image& image, const Clocks& clocks) : image_(image), clocks_(clocks) {}

  /// Whether a step that its lane has entered may be made by it.
  bool may_make(std::uint32_t lane, std::uint32_t step, std::uint32_t piece) {
    const std::uint32_t once = image_.steps[step].once;
    if (once == none) return true;
    std::vector<Comer>& comers = comers_[std::uint64_t{once} << 32 | piece];
    if (std::any_of(comers.begin(), comers.end(), [&](const Comer& comer) { return clocks_.knows(lane, comer.lane, comer.event); })) return false;
    comers.push_back({lane, clocks_.event(lane)});
    return true;
  }

 private:
  struct Comer {
    std::uint32_t lane, event;
  };
  const Image& image_;
  const Clocks& clocks_;
  std::unordered_map<std::uint64_t, std::vector<Comer>> comers_;  // by word and piece
};

}  // namespace rondo::verifier
