// What the ranks have said: a line that all of them have to say is said once.
#pragma once

#include <string>

/// Makes the memory that ranks share; before the first of them is forked.
void share_what_is_said();

/// Whether no rank of this program, thread or process, has asked for this line before. Ranks of a launcher's job each speak for themselves.
bool first_to_say(const std::string& line);
