// Between which cores, and when: virtual ones come to lie near one another or far apart, so one pair may be measured at two distances.
#pragma once

#include <vector>

#include "rondo/planner.hpp"

namespace rondo::calibration {

/// Latencies that differ by more are of two distances.
inline constexpr double apart = 1.5;

/// Puts what was measured of pairs of cores into `figures`: of the measurements at the shortest distance each figure's middle, and of those at the longest, if
/// that is another one. There is one measurement at least.
void take_links(CoreFigures& figures, std::vector<LinkFigures> measured);

/// Where `figures` know one distance, and `earlier` ones, of the same machine, were measured at another: keeps that too.
void keep_other_distance(CoreFigures& figures, const CoreFigures& earlier);

}  // namespace rondo::calibration
