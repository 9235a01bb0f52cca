// Jobs of several hosts, and what their ranks do.
#pragma once

#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "support/hosts.hpp"
#include "support/ranks.hpp"

/// Creation ends within 20 s.
rondo::CommunicatorOptions quick();

/// The body as each rank of `hosts` times `per_host`, of a communicator that its environment describes. Element r: what rank r said.
std::vector<std::string> run_job(const Hosts& hosts, std::uint32_t count, std::uint32_t per_host, const RankBody& body, int seconds = 120);

/// The body as each rank of a job on hosts as `on` says, rank 0 on the first.
std::vector<ChildBody> ranks_on(const Hosts& hosts, const std::vector<std::uint32_t>& on, const RankBody& body,
                                const rondo::CommunicatorOptions& options = quick());

/// The same as one rank's body alone, on its host, for tests that start ranks one by one.
ChildBody rank_of_job(const Hosts& hosts, std::uint32_t rank, std::uint32_t size, std::uint32_t per_host, const RankBody& body);

/// One call of every collective, tiny and of some pieces, against what it must give.
std::string every_collective(rondo::Communicator& communicator);
