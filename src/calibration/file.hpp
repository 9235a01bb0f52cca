// Where calibrations are kept, for whoever knows the folder.
#pragma once

#include <optional>
#include <string>

#include "rondo/calibration.hpp"

namespace rondo {

/// load_calibration() from this folder; empty: from nowhere.
Result<std::optional<CoreFigures>> load_calibration_from(const std::string& folder, const Topology& topology);

}  // namespace rondo
