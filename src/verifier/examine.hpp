// One run over a fixed number of pieces, with everything that is asked of it.
#pragma once

#include <cstdint>
#include <memory>

#include "verifier/image.hpp"
#include "verifier/report.hpp"
#include "verifier/walk.hpp"

namespace rondo::verifier {

struct Question {
  std::uint32_t pieces = 1;
  bool in_place = false;
  bool orders = true;  ///< races; with `users` the rule of calls too
  bool users = false;  ///< follow input and output for races, not scratch alone
  bool values = true;  ///< what outputs end as
  bool brief = false;  ///< one thing that is wrong is enough
};

enum class Answer {
  done,       ///< what is wrong, if anything, is in the report
  reversed,   ///< done, and slots were used out of their pieces' order
  too_large,  ///< would take more than the verifier allows itself
};

/// A question and the walk that answers it. Takes plans whose messages match.
class Examination {
 public:
  Examination(const Image& image, const Question& question, Report& report);
  ~Examination();

  /// To be told of a walk over question.pieces; null where there is nothing to be told.
  Observer* observer();

  /// When that walk has come to its end: says what is wrong. Where clocks of neighbours don't suffice, it walks again.
  Answer end();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The examination with a walk of its own, which mustn't deadlock.
Answer examine(const Image& image, const Question& question, Report& report);

}  // namespace rondo::verifier
