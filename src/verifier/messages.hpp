// Whether every message that is sent is received, with its size, for the piece it was sent for.
#pragma once

#include <cstdint>
#include <vector>

#include "verifier/image.hpp"
#include "verifier/report.hpp"

namespace rondo::verifier {

void check_messages(const Image& image, Report& report);

/// One message of a run: which of the body's, and the piece it belongs to.
struct Passing {
  std::uint32_t message = 0;
  std::uint32_t piece = 0;
  bool operator==(const Passing&) const = default;
};

/// The messages of one end of a link in the order in which its lane does them, in a run over `pieces` pieces.
std::vector<Passing> passing(const std::vector<LinkMessage>& ends, std::uint32_t first, std::uint32_t count,
                             std::uint32_t pieces);

/// Whether all messages of a link's end have one skew, so that pieces pass one after the other.
bool even(const std::vector<LinkMessage>& ends, std::uint32_t first, std::uint32_t count);

}  // namespace rondo::verifier
