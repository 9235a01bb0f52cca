// What passes between hosts.
#pragma once

#include "rondo/planner.hpp"

namespace rondo::planner {

/// Fills in cost.network and its source, where ranks are on several hosts.
void find_network(const Topology& topology, std::uint32_t ranks, CostModel& cost);

struct Crossing {
  double bytes = 0;     ///< that a host sends by its busiest interface, or receives if that is more
  bool bursts = false;  ///< a rank sends to several of other hosts in turn, not to one all the time
};

/// Of a plan of this header, by its links: read off the programs of the first and the last host's ranks. Of a host with many ranks some stand for all.
Crossing crossing_of(const PlanHeader& header, Generator generator, const Request& request, const Network& network);

}  // namespace rondo::planner
