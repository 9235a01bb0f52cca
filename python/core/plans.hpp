// Plans without a communicator: made, read, proved.
#pragma once

#include <nanobind/nanobind.h>

namespace rondo_python {

/// Adds plan(), read_plan() and verify() to rondo._core. They throw Failure, and let other threads run Python meanwhile.
void bind_plans(nanobind::module_& module);

}  // namespace rondo_python
