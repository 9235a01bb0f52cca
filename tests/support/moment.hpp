// When in its life a process is to die, and what was seen of that life.
#pragma once

#include <atomic>
#include <cstdint>

inline constexpr int most_marks = 8;

/// The `number`th of a process's steps after it passed `mark`. 0: none.
struct Moment {
  int mark = 0;
  std::uint64_t number = 0;
};

/// For memory that the process shares with others (support/shared.hpp).
struct Followed {
  std::atomic<std::uint64_t> steps[most_marks] = {};  ///< after each mark, until the next
  std::atomic<std::uint64_t> heard_after = 0;         ///< steps since its last mark, when it had first told others that it is there; 0: it hasn't
  std::atomic<bool> died = false;                     ///< before the step that was asked for
  char place[64] = {};                                ///< and which that was
  char answer[1024] = {};                             ///< what its body said
};
