// all_to_all_v with random blocks, judged element by element: every rank can work out every pair's block.
#pragma once

#include <string>

#include "rondo/communicator.hpp"

/// How a call is made.
enum class Way { run, start, group };

/// One call: pair (a, b)'s block has up to `most` elements, often none and now and then all of them. Blocks lie apart and in any
/// order; the gaps must stay untouched. "" when all is well.
std::string swap_uneven(rondo::Communicator& communicator, std::uint64_t seed, std::uint64_t most, Way way = Way::run);
