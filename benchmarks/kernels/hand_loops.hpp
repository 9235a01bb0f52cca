// What a person would write for one case alone: the floor that the kernels are held against.
#pragma once

#include "rondo/kernels.hpp"

namespace bench {

/// All sources of f32 added in a plain loop.
void add_plain(const rondo::KernelCall& call);

/// Two sources of f32, one destination, with this processor's intrinsics. `add` is null where there is none.
struct HandLoop {
  const char* name;
  void (*add)(const rondo::KernelCall& call);
};
HandLoop hand_loop();

}  // namespace bench
