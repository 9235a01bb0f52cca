// The first thing found wrong in a file. Readers go on with defaults after it, so that each getter needs no branch of
// its own at every call; whoever loops looks at any().
#pragma once

#include <optional>
#include <string>

#include "rondo/result.hpp"

namespace rondo {

class Problem {
 public:
  explicit Problem(const char* where) : where_(where) {}

  bool any() const { return first_.has_value(); }

  /// Keeps the first report; later ones are often its consequences.
  void report(std::string detail, Errc code = Errc::invalid_plan) {
    if (!first_) first_ = Error{code, std::move(detail), 0, where_};
  }

  const Error& error() const { return *first_; }

 private:
  const char* where_;
  std::optional<Error> first_;
};

}  // namespace rondo
