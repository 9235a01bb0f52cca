// A process that another one follows from system call to system call, and kills as it is about to make one of them.
#pragma once

#include <string>

#include "support/children.hpp"
#include "support/death.hpp"
#include "support/moment.hpp"

/// Here the traced process that calls it passes `mark` (1 and above; 0: nothing counts from here on). An untraced one does nothing.
void pass_mark(int mark);

/// Why no process may be traced here; "" where one may.
std::string hindrance_of_tracing();

/// Runs `body` in a process that dies at `moment`, of which `death` is told, and follows it to its end. Steps are the system calls of all its threads.
/// Takes a process for itself: a child's body.
/// "" when it died there, or when its body said so before it came that far; else what was wrong.
std::string run_traced(const ChildBody& body, Moment moment, const Death& death, Followed& followed);
