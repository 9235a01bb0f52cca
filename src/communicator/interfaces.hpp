// The interfaces of a rank's host, by which it is reached from others, and which rank uses which. Design: docs/design/0021-hosts.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "communicator/rank_info.hpp"

namespace rondo {

/// Processors of the smallest part of the machine that has all of `cpus` (ascending) and the interface; 0: it isn't known where that is.
std::uint32_t shared_cpus(const Topology& machine, const std::string& interface, const std::vector<std::uint32_t>& cpus);

/// This rank's, which may run on `cpus` of `machine`: those of RONDO_NET_INTERFACES, else one whose address `otherwise` gives. Errors: those of
/// chosen_interfaces().
Result<std::vector<RankInterface>> own_interfaces(const Topology& machine, const std::vector<std::uint32_t>& cpus,
                                                  const std::function<std::string()>& otherwise);

/// As many as each host has. Those of a host are dealt out among its ranks, to each the nearest one that isn't yet the own one of more than its part of them.
Interfaces deal_interfaces(const std::vector<RankInfo>& ranks);

/// Those by which `rank`, this one, is called. Ranks of a machine whose own name is a loopback address met rank 0 there, where others don't reach them: theirs
/// is the one on the way to another machine.
std::vector<std::string> addresses_for_others(const std::vector<RankInfo>& ranks, std::uint32_t rank, const Interfaces& interfaces);

}  // namespace rondo
