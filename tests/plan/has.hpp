// Whether a text says what it should.
#pragma once

#include <string>

#include "support/catch.hpp"

namespace rondo::test {

/// Both are shown where a check of this fails.
inline bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("\"" << text << "\" should hold \"" << part << "\"");
  return text.find(part) != std::string::npos;
}

}  // namespace rondo::test
