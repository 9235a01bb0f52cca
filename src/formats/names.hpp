// What both foreign formats call the collectives.
#pragma once

#include <optional>
#include <string_view>

#include "rondo/types.hpp"

namespace rondo::formats {

inline constexpr const char* collective_choices = "allreduce, allgather, reducescatter, alltoall, broadcast or reduce";

inline std::optional<Collective> collective_named(std::string_view name) {
  if (name == "allreduce") return Collective::all_reduce;
  if (name == "allgather") return Collective::all_gather;
  if (name == "reduce_scatter" || name == "reducescatter") return Collective::reduce_scatter;
  if (name == "alltoall") return Collective::all_to_all;
  if (name == "broadcast") return Collective::broadcast;
  if (name == "reduce") return Collective::reduce;
  return std::nullopt;
}

inline std::optional<std::string_view> name_of(Collective collective) {
  for (const std::string_view name : {"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"})
    if (collective_named(name) == collective) return name;
  return std::nullopt;
}

}  // namespace rondo::formats
