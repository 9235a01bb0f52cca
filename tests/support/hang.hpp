// What a test that hangs is doing: told before ctest's time limit ends the program without a word.
#pragma once

/// From now on: unless end_watch() comes within `seconds`, the name of the test and where each thread of this process and of its
/// children is go to standard error, and the process aborts. `name` must live until end_watch().
void begin_watch(const char* name, unsigned seconds);

void end_watch();
