// Threads of the library's own that sleep nearly always, and live as long as the process.
#pragma once

#include <functional>

namespace rondo {

/// Nobody waits for it, so that no order of static destructors matters. It takes no signals: these belong to the program that uses the library. `name` has at
/// most 15 characters. 0, or errno's number: this process may not have one more.
int start_quiet_thread(const char* name, std::function<void()> body);

}  // namespace rondo
