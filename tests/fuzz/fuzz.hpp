// What the fuzzers share. Each is a program of libFuzzer's that gives one parser whatever bytes there are, and asks of what it takes that it can be
// used, written, and read again as the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

/// Called by libFuzzer with each input, which it lends. Always 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rondo::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

/// Ends the process, which is a find, when something isn't as it should be.
inline void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

}  // namespace rondo::fuzz
