// The library's errors as Python's exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include "rondo/result.hpp"

namespace rondo_python {

/// Thrown through C++; becomes the exception of the error's kind: ValueError, TypeError and the like for what Python has a name for, else a subclass of
/// rondo.Error (see rondo/_errors.py).
struct Failure {
  rondo::Error error;
};

/// Makes Failures exceptions of the classes that `module` (rondo._errors) holds.
void translate_failures();

inline void check(const rondo::Result<void>& result) {
  if (!result) throw Failure{result.error()};
}

template <class T>
T checked(rondo::Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(result).value();
}

}  // namespace rondo_python
