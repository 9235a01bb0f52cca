// Arrays of any library as the buffers of a call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>

#include "rondo/types.hpp"

namespace rondo_python {

namespace nb = nanobind;

/// What a call reads: read-only arrays, too.
using Input = nb::ndarray<nb::ro, nb::device::cpu>;
/// What a call writes.
using Output = nb::ndarray<nb::device::cpu>;

/// An array as the library sees it: `elements` of the array, each `per_element` numbers of `type`.
struct Buffer {
  void* data = nullptr;
  std::uint64_t elements = 0;
  std::uint64_t per_element = 1;
  rondo::DataType type = rondo::DataType::u8;
  nb::dlpack::dtype dtype{};
  std::string shape;  ///< "(2, 3) float32": for errors
};

/// Throws ValueError unless the elements follow one another in C order. `name` is the argument's.
Buffer buffer_of(const Input& array, const char* name);
Buffer buffer_of(const Output& array, const char* name);

/// How a reduction combines an array's elements: booleans are truth values (sum, max: or; prod, min: and), complex numbers pairs of real ones (sum, avg,
/// premul_sum). Throws TypeError where that makes no sense, naming what would be accepted.
rondo::ReduceOp combining(const Buffer& buffer, rondo::ReduceOp op);

}  // namespace rondo_python
