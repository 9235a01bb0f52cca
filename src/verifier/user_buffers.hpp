// The rule of calls: a peer may touch a rank's input and output only while that rank is in the call. And the barrier,
// which promises nothing but that.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "verifier/clocks.hpp"
#include "verifier/image.hpp"
#include "verifier/report.hpp"

namespace rondo::verifier {

class UserBuffers {
 public:
  UserBuffers(const Image& image, const Clocks& clocks, Report& report)
      : image_(image), clocks_(clocks), report_(report) {}

  /// A step that its lane has entered: what it touches of peers must come after they have begun.
  void step(std::uint32_t lane, std::uint32_t step);
  /// After the run: what was touched of peers must come before they end.
  void end();

 private:
  struct Touch {
    std::uint32_t event = 0;
    std::uint32_t step = 0;
  };
  std::string touched(std::uint32_t step, std::uint32_t owner) const;

  const Image& image_;
  const Clocks& clocks_;
  Report& report_;
  std::unordered_map<std::uint64_t, Touch> last_;  // lane << 32 | owner → its last access
};

/// After a run with exact clocks: every rank's end comes after every rank's begin.
void check_barrier(const Image& image, const Clocks& clocks, Report& report);

}  // namespace rondo::verifier
