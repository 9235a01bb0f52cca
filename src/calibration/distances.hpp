// Between which cores, and when: virtual ones come to lie near one another or far apart, so one pair may be measured at several distances.
#pragma once

#include <vector>

#include "rondo/planner.hpp"

namespace rondo::calibration {

/// Latencies that differ by more are of two distances.
inline constexpr double apart = 1.5;

/// What was measured of pairs of cores, distance by distance, nearer ones first: of each figure the middle.
std::vector<LinkFigures> by_distance(std::vector<LinkFigures> measured);

/// `links`, and of `earlier` ones, of the same machine, those of other distances.
std::vector<LinkFigures> with_other_distances(std::vector<LinkFigures> links, const std::vector<LinkFigures>& earlier);

}  // namespace rondo::calibration
