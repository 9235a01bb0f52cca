#include "bootstrap/line.hpp"

namespace rondo {

Moved Line::write() {
  while (!outgoing_.empty()) {
    const auto step = outgoing_.front().write(socket());
    if (step && *step != Moved::done) return *step;
    if (step) outgoing_.pop_front();
    else outgoing_.clear();
  }
  return Moved::done;
}

}  // namespace rondo
