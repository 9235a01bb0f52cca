// A thread's rest while others go on.
#pragma once

#include <chrono>
#include <thread>

inline void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }
