// What was measured on a machine, with the figures that the model had of it: enough to ask the model again, anywhere and later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report.hpp"
#include "rondo/planner.hpp"

namespace predict {

struct Recording {
  std::string machine;        ///< in words
  Settings settings;          ///< batch_ms isn't kept
  rondo::CoreFigures core;    ///< measured or assumed before the rounds
  double cores_per_rank = 1;
  std::uint64_t own_cache_bytes = 0, cache_bytes = 0, ring_bytes = 0;  ///< as CostModel's
  std::vector<Line> lines;
};

/// JSON, a line of measurements in each line of the text.
std::string write_recordings(const std::vector<Recording>& recordings);

/// Errors: io; invalid_argument names the file and what was expected.
rondo::Result<std::vector<Recording>> read_recordings(const std::string& path);

/// What the model says of `lines`, measured with `settings` on a machine of which `figures` are known: predictions and the choice are new, times are those that
/// were measured. A state's latency is the median of its flags. Predictions are for buffers that were rewritten or not, as `settings` say, which a
/// communicator can't know (Request::rewritten). Algorithms that weren't measured are left out, and with them choices that fall on them. Errors: make_plan's.
rondo::Result<std::vector<Line>> asked(const rondo::Topology& machine, const rondo::CostModel& figures, const Settings& settings, std::vector<Line> lines);

/// The same of the recording's lines, of which the topology isn't known any more.
rondo::Result<std::vector<Line>> replay(const Recording& recording);

}  // namespace predict
