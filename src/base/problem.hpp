// The first thing found wrong in a file. Readers go on with defaults after it, so that each getter needs no branch of
// its own at every call; whoever loops looks at any().
#pragma once

#include <optional>
#include <string>

#include "rondo/result.hpp"

namespace rondo {

class Problem {
 public:
  /// `where`: the function that reads; `code`: of what is wrong, where a report doesn't say.
  explicit Problem(const char* where, Errc code = Errc::invalid_plan) : where_(where), code_(code) {}

  bool any() const { return first_.has_value(); }

  /// Keeps the first report; later ones are often its consequences.
  void report(std::string detail) { report(std::move(detail), code_); }
  void report(std::string detail, Errc code) {
    if (!first_) first_ = Error{code, std::move(detail), 0, where_};
  }

  const Error& error() const { return *first_; }

 private:
  const char* where_;
  Errc code_;
  std::optional<Error> first_;
};

}  // namespace rondo
