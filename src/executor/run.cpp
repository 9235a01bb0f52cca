#include "executor/run.hpp"

#include "executor/run_blocks.hpp"
#include "executor/run_checked.hpp"
#include "executor/run_direct.hpp"
#include "executor/run_fetch.hpp"
#include "executor/run_inline.hpp"
#include "executor/run_links.hpp"
#include "executor/run_segments.hpp"
#include "executor/run_steps.hpp"
#include "executor/run_wire.hpp"

namespace rondo {

template class BasicRun<true>;

}  // namespace rondo
