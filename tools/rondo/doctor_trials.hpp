// Real all-reduces between two ranks, for `rondo doctor`.
#pragma once

#include <vector>

#include "rondo/doctor.hpp"

/// Two ranks as threads and as processes over shared memory, and as processes over UCX. Each runs in child processes, so that
/// whatever goes wrong there is an answer: one that crashes is reported, one that hangs is killed. Takes well below a second where
/// all is well, and 14 s at most. Forks: to be called before this process has threads.
std::vector<rondo::Trial> run_trials();
