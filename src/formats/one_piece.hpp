// A plan's programs as formats have them whose runs do one piece, and whose calls share scratch with the next.
#pragma once

#include <vector>

#include "rondo/plan.hpp"

namespace rondo::formats {

/// Programs without links, `after`, skew and lags that do what the plan does with one piece. Signals are numbered in their new order. Where a rank writes
/// scratch that others touch, it ends only when these have done with it: what comes next may be the next call.
std::vector<Program> one_piece(const Plan& plan);

}  // namespace rondo::formats
