// What every transport must do, whatever it is made of.
#pragma once

#include "parties.hpp"

/// Runs the suite, as processes and as threads. `notice_seconds`: how long a peer's going may stay unseen.
void conformance(const MakeTransport& make, double notice_seconds);
