// Plans and their texts in the forms of others. What can't be read or written fails the test.
#pragma once

#include <string>
#include <utility>

#include "rondo/formats.hpp"
#include "support/catch.hpp"

namespace rondo::test {

template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(to_string(result.error()));
  return std::move(*result);
}

inline Plan from_msccl(const std::string& text) { return value_of(import_msccl_xml(text)); }
inline Plan from_mscclpp(const std::string& text) { return value_of(import_mscclpp_json(text)); }
inline std::string to_msccl(const Plan& plan) { return value_of(export_msccl_xml(plan)); }
inline std::string to_mscclpp(const Plan& plan) { return value_of(export_mscclpp_json(plan)); }

/// Why a text is none; "" when it is.
inline std::string msccl_error(const std::string& text) {
  const Result<Plan> plan = import_msccl_xml(text);
  return plan ? "" : to_string(plan.error());
}
inline std::string mscclpp_error(const std::string& text) {
  const Result<Plan> plan = import_mscclpp_json(text);
  return plan ? "" : to_string(plan.error());
}

}  // namespace rondo::test
