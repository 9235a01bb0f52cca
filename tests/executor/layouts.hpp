// Layouts of areas that several of these tests use.
#pragma once

#include "executor/slot_layout.hpp"

namespace rondo::test {

inline constexpr ContextLayout bare_layout{2, 2, 0};  ///< nothing is staged
inline constexpr ContextLayout staged_layout{8, 8, 64u << 10};

}  // namespace rondo::test
