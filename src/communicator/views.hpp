// How all ranks come to one topology: what each sees of its machine, sent once for all that see the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "communicator/rank_info.hpp"
#include "rondo/result.hpp"
#include "rondo/topology.hpp"

namespace rondo {

/// A machine as ranks on it see it.
struct View {
  std::string text;  ///< the topology, without ranks
  std::string name;  ///< equal where the text is, on all machines
};

View view_of(Topology topology);

/// The topology of all ranks, in their order. A round of the bootstrap: of those that have one view the first gives it. Blocks and fails as that; also
/// invalid_argument, which names a rank whose view makes no sense.
Result<Topology> merge_views(Bootstrap& bootstrap, const View& own, const std::vector<RankInfo>& infos, std::uint32_t rank, std::int64_t deadline_ns);

}  // namespace rondo
