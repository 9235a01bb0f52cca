// The header's fields in the JSON form: one list, in the order in which they are written.
#pragma once

#include "rondo/plan.hpp"

namespace rondo::plan {

inline constexpr const char* format_key = "rondo_plan";
inline constexpr std::uint32_t format_version = 1;

/// Calls `visit(name, field)` for every field of a header, const or not.
template <class Header, class Visitor>
void for_each_field(Header& header, Visitor&& visit) {
  visit("algorithm", header.algorithm);
  visit("collective", header.collective);
  visit("protocol", header.protocol);
  visit("ranks", header.ranks);
  visit("root", header.root);
  visit("chunks_per_block", header.chunks_per_block);
  visit("scratch_chunks", header.scratch_chunks);
  visit("depth", header.depth);
  visit("piece_bytes", header.piece_bytes);
  visit("alignment_bytes", header.alignment_bytes);
  visit("min_bytes", header.min_bytes);
  visit("max_bytes", header.max_bytes);
  visit("out_of_place", header.out_of_place);
  visit("in_place", header.in_place);
  visit("order", header.order);
  visit("groups", header.groups);
  visit("wire", header.wire);
  visit("neutral", header.neutral);
}

}  // namespace rondo::plan
