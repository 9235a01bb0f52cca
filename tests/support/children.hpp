// Child processes that do something each and say how it went.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

/// What a child does; "" when all was well, else what was wrong. Must not use Catch macros.
using ChildBody = std::function<std::string()>;

struct Child {
  pid_t process = -1;
  int answer = -1;  ///< read end
};

/// Forks a child that runs `body` and ends; it dies with this process.
Child start_child(const ChildBody& body);

/// What the child said, once it has said it; "ended by signal 9" or the like where a signal came first. A child that isn't done at
/// `deadline` is killed and has "did not end in time".
std::string answer_of(const Child& child, std::chrono::steady_clock::time_point deadline);

/// All of them at once, at most `seconds` long. Element i: what child i said.
std::vector<std::string> run_children(const std::vector<ChildBody>& bodies, int seconds = 120);

/// All answers that aren't empty, in one text: compare with "".
std::string complaints(const std::vector<std::string>& answers);
