// Making a communicator: introduction, transport, first plans.
#pragma once

#include <cstdint>
#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "communicator/impl.hpp"

namespace rondo {

/// One rank's part of creation; blocks until all ranks have done theirs. `machine` is this one, without ranks;
/// `ranks_here` how many ranks this process creates. Defaults the environment sets (config()) are already in `options`.
Result<CommunicatorParts> join(Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t size, const CommunicatorOptions& options,
                               const Topology& machine, std::uint32_t ranks_here);

/// Where links serve some ranks: all of these have said that they are there, over the links. The transport is connected.
/// Errors: those of StatusLinks::meet().
Result<void> meet_over_links(CommunicatorParts& parts, std::int64_t deadline_ns);

/// Creation came to nothing for this rank after the others could see its state: for them it may be over, and in their calls they find here whom to blame.
/// Returns the error.
Error given_up(const CommunicatorParts& parts, const Error& error);

/// The only way from parts to a communicator.
struct Assembly {
  static Communicator of(CommunicatorParts parts);
};

}  // namespace rondo
