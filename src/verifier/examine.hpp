// One run over a fixed number of pieces, with everything that is asked of it.
#pragma once

#include <cstdint>

#include "verifier/image.hpp"
#include "verifier/report.hpp"

namespace rondo::verifier {

struct Question {
  std::uint32_t pieces = 1;
  bool in_place = false;
  bool orders = true;  ///< races; with `users` the rule of calls too
  bool users = false;  ///< follow input and output for races, not scratch alone
  bool values = true;  ///< what outputs end as
};

enum class Answer {
  done,       ///< what is wrong, if anything, is in the report
  reversed,   ///< done, and slots were used out of their pieces' order
  too_large,  ///< would take more than the verifier allows itself
};

/// Takes plans whose messages match and that don't deadlock.
Answer examine(const Image& image, const Question& question, Report& report);

}  // namespace rondo::verifier
