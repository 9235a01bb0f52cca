// Signals and waits that say nothing: left out, so that a plan has one form however often it is written and read.
#pragma once

#include <vector>

#include "rondo/plan.hpp"

namespace rondo::formats {

/// Leaves out, and numbers the other signals anew: waits (of lag 0) for what the lane has waited for before; signals that follow another one at once, whose
/// waits go to that one; signals that nobody waits for; and with `last_waits` the waits behind a lane's last step, which keep apart calls alone. The programs
/// have no `after` and no skew.
void tidy(std::vector<Program>& programs, bool last_waits);

}  // namespace rondo::formats
