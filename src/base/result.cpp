#include "rondo/result.hpp"

#include <cstring>

namespace rondo {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::unsupported: return "unsupported";
    case Errc::invalid_plan: return "invalid_plan";
    case Errc::mismatch: return "mismatch";
    case Errc::peer_failed: return "peer_failed";
    case Errc::deadline_exceeded: return "deadline_exceeded";
    case Errc::aborted: return "aborted";
    case Errc::out_of_resources: return "out_of_resources";
    case Errc::io: return "io";
    case Errc::corrupted: return "corrupted";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string line{to_string(error.code)};
  line += ": " + error.detail;
  if (!error.where.empty()) line += " (" + error.where + ")";
  if (error.native != 0) line += std::string(": ") + std::strerror(error.native);
  return line;
}

}  // namespace rondo
