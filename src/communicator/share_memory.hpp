// Memory among the ranks of one host of several.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "communicator/rank_info.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// A name of a meeting that nobody knows who isn't told.
std::string fresh_meeting();

/// A mapped transport of the ranks of `rank`'s host, in their order, set up: they meet once more, where memory can be handed over. `hosts` as
/// hosts_apart() has it. All of them have introduced themselves by `all`, so none is waited for long, and not once it is over. Errors: those of a bootstrap
/// and of the transport.
Result<std::unique_ptr<Transport>> share_memory(const std::vector<std::uint32_t>& hosts, const std::vector<RankInfo>& infos, std::uint32_t rank,
                                                std::uint64_t segment_bytes, Bootstrap& all, std::int64_t deadline_ns);

}  // namespace rondo
