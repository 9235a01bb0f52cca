// What a piece of memory holds, as a symbol: which contributions went into it, and through what. Part of the
// independent judge of plans (see interpreter.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace rondo::test {

/// A number for a symbolic value; equal values have equal numbers.
using ValueId = std::uint32_t;

inline constexpr ValueId junk = 0;     ///< left-over bytes, or what was made from them
inline constexpr ValueId entered = 1;  ///< a barrier's mark: this rank has begun

/// One contribution in a value. `scaled` counts reads as a contribution (premul_sum scales there), `finished` the
/// finishing reduces that it went through.
struct Term {
  std::uint32_t rank = 0;
  std::uint32_t chunk = 0;
  std::uint32_t piece = 0;
  std::uint32_t scaled = 0;
  std::uint32_t finished = 0;
  auto operator<=>(const Term&) const = default;
};

/// Values with their numbers: multisets of terms, kept sorted.
class Values {
 public:
  Values();

  ValueId make(std::vector<Term> terms);
  /// Everything that went into any of `parts`; junk if one of them is.
  ValueId combine(const std::vector<ValueId>& parts);
  ValueId scale(ValueId value);
  ValueId finish(ValueId value);
  /// Whether all of it belongs to this chunk of a block and this piece, so that it has the length of that place.
  bool fits(ValueId value, std::uint32_t chunk_in_block, std::uint32_t piece, std::uint32_t chunks_per_block) const;

 private:
  std::vector<std::vector<Term>> terms_;
  std::map<std::vector<Term>, ValueId> ids_;
};

}  // namespace rondo::test
