/// @defgroup calibration Calibration
/// What the cores of this machine do, measured once and kept: the figures that the cost model otherwise assumes by the kind of processor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rondo/planner.hpp"
#include "rondo/result.hpp"
#include "rondo/topology.hpp"

namespace rondo {
/// @addtogroup calibration
/// @{

/// Measures the links between this machine's cores and the kernels on them; no collective. `topology` is discover_topology()'s. Takes some five seconds,
/// on the processors that this thread may use (64 at most), which should have nothing else to do meanwhile, and up to 1 GiB. What can't be measured here (one
/// processor has no links) is what core_figures() assumes; `call_ns` and `step_ns` are that, scaled by how fast the core copies. Virtual cores may be near
/// one another now and far apart a minute later: what `earlier` figures of this machine, if there are any, know of other distances is kept. Errors:
/// out_of_resources (memory, threads), unsupported (a topology without processors).
Result<CoreFigures> calibrate(const Topology& topology, const std::optional<CoreFigures>& earlier = {});

/// Where this machine's calibration is kept: a file named by the kind of machine, in the folder RONDO_CACHE names, or rondo/ in the user's cache folder
/// (XDG_CACHE_HOME, else .cache in HOME). Errors: invalid_argument when the environment names no folder.
Result<std::string> calibration_file(const Topology& topology);

/// Writes it there, whole or not at all; makes the folder. Errors: io names the file.
Result<void> save_calibration(const Topology& topology, const CoreFigures& figures);

/// What is kept for this kind of machine; nothing when there is no such file, or no folder for it. Errors: invalid_argument names the file and what is wrong
/// in it; io.
Result<std::optional<CoreFigures>> load_calibration(const Topology& topology);

/// What is kept for this kind of machine, or else assumed. A file that can't be used is logged.
CoreFigures known_core_figures(const Topology& topology);

/// As a JSON object, and back. Errors: invalid_argument says what was expected.
std::string write_core_figures(const CoreFigures& figures);
Result<CoreFigures> read_core_figures(std::string_view text);  ///< the reverse

/// @}
}  // namespace rondo
