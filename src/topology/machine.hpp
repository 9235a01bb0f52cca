// What this machine says of itself, beside what hwloc sees.
#pragma once

#include <string>

#include "rondo/result.hpp"
#include "rondo/topology.hpp"

namespace rondo {

std::string host_name();

/// hwloc's XML of this machine as it was when this process first asked, processors that the control groups forbid included (they are marked).
Result<std::string> hwloc_xml_of_this_machine();

/// hwloc's XML of a synthetic description. Error: invalid_argument names the part that is wrong.
Result<std::string> hwloc_xml_of(std::string_view synthetic);

}  // namespace rondo
