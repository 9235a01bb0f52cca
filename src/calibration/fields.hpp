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
    {"shared_ns_per_byte", &CoreFigures::shared_ns_per_byte},
    {"memory_ns_per_byte", &CoreFigures::memory_ns_per_byte},
    {"ring_bytes", &CoreFigures::ring_bytes},
    {"stream_parts", &CoreFigures::stream_parts},
    {"kernel_ns_per_byte", &CoreFigures::kernel_ns_per_byte},
    {"kernel_call_ns", &CoreFigures::kernel_call_ns},
    {"step_ns", &CoreFigures::step_ns, some},
    {"call_ns", &CoreFigures::call_ns},
    {"switch_ns", &CoreFigures::switch_ns},
};

struct LinkField {
  const char* name;
  double LinkFigures::* value;
  double least = 0;
  bool may_miss = false;  ///< then it is 0
};
inline constexpr LinkField link_fields[] = {
    {"latency_ns", &LinkFigures::latency_ns, some},
    {"pull_ns_per_byte", &LinkFigures::pull_ns_per_byte},
    {"publish_ns_per_byte", &LinkFigures::publish_ns_per_byte},
    {"share_ns_per_byte", &LinkFigures::share_ns_per_byte},
    {"past_pull_ns_per_byte", &LinkFigures::past_pull_ns_per_byte, 0, true},
    {"past_publish_ns_per_byte", &LinkFigures::past_publish_ns_per_byte, 0, true},
    {"fresh_pull_ns_per_byte", &LinkFigures::fresh_pull_ns_per_byte, 0, true},
};

}  // namespace rondo::calibration
