// Which chunks of a rank's input and output others touch, and where their copies lie in scratch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::plan {

/// Copies between a user buffer and the shadow: `count` chunks from `user` on.
struct ShadowCopy {
  std::uint32_t user = 0;
  std::uint32_t shadow = 0;
  std::uint32_t count = 0;
};

/// One rank's shadows. Chunks are kept as cells: where input and output share memory in place, a chunk of one and the
/// chunk of the other are one cell. Use: touch() until nothing changes, place(), then use(), map() and the copies.
class Shadows {
 public:
  Shadows(const PlanHeader& header, std::uint32_t rank);

  bool any() const { return any_; }
  /// Makes all of an operand's chunks shadows, if `all` or any of them is one already. True when that changed
  /// something.
  bool touch(const Operand& operand, bool all);
  /// Numbers the shadows from scratch chunk `first` on; returns how many there are.
  std::uint32_t place(std::uint32_t first);
  /// The scratch chunk of an operand's first chunk; nothing when it has no shadow.
  std::optional<std::uint32_t> map(const Operand& operand) const;
  /// Notes what is done with a shadow: inputs that are read must be filled, outputs that are written be emptied.
  void use(const Operand& operand, bool destination);

  std::vector<ShadowCopy> fills() const;
  std::vector<ShadowCopy> drains() const;

 private:
  bool inside(const Operand& operand) const;  // what isn't is left as it is
  std::size_t cell(const Operand& operand) const;
  std::vector<ShadowCopy> runs(const std::vector<bool>& flags, std::size_t first, std::size_t count) const;

  std::uint32_t inputs_ = 0;  // chunks that the rank has
  std::uint32_t outputs_ = 0;
  std::size_t input_cell_ = 0;  // of input chunk 0
  std::size_t output_cell_ = 0;
  bool output_is_input_ = false;  // in place alone: an output chunk holds the input before it is written
  bool any_ = false;
  std::vector<bool> shadowed_, filled_, written_;
  std::vector<std::uint32_t> chunk_;  // scratch chunk of a shadowed cell
};

}  // namespace rondo::plan
