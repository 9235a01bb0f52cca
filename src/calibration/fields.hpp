// The core figures by name: for all that goes through them one by one.
#pragma once

#include "rondo/planner.hpp"

namespace rondo::calibration {

struct Field {
  const char* name;
  double CoreFigures::* value;
  double least = 0;
};
inline constexpr double some = 1e-6;  ///< of a figure that can't be nothing
inline constexpr Field fields[] = {
    {"copy_ns_per_byte", &CoreFigures::copy_ns_per_byte, some},
    {"reduce_ns_per_byte", &CoreFigures::reduce_ns_per_byte},
    {"fetch_ns_per_byte", &CoreFigures::fetch_ns_per_byte},
    {"shared_ns_per_byte", &CoreFigures::shared_ns_per_byte},
    {"memory_ns_per_byte", &CoreFigures::memory_ns_per_byte},
    {"pull_lines", &CoreFigures::pull_lines},
    {"publish_lines", &CoreFigures::publish_lines},
    {"share_lines", &CoreFigures::share_lines},
    {"ring_bytes", &CoreFigures::ring_bytes},
    {"stream_parts", &CoreFigures::stream_parts},
    {"kernel_ns_per_byte", &CoreFigures::kernel_ns_per_byte},
    {"kernel_call_ns", &CoreFigures::kernel_call_ns},
    {"step_ns", &CoreFigures::step_ns, some},
    {"call_ns", &CoreFigures::call_ns},
    {"switch_ns", &CoreFigures::switch_ns},
};

}  // namespace rondo::calibration
