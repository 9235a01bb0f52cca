// Lists of equally long tensors, one for each rank, as calls of the library take them.
#pragma once

#include <rondo/rondo.h>

#include "arguments.hpp"
#include "work.hpp"

namespace rondo_torch {

/// Gives a call whose output is set the tensors of `list` as its input: in one piece where they follow one another in memory, else where they lie. A copy
/// in one piece where some have strides or the output is among them in a way that isn't in place, and on devices.
void give_blocks(Operation& operation, const Tensors& list, rondo_call& call);
/// The same with the output of a call whose input is set: where the tensors overlap, too, it goes to room from which they get it in the end.
void receive_blocks(Operation& operation, const Tensors& list, rondo_call& call);

}  // namespace rondo_torch
