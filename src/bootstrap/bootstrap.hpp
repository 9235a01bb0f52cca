// How ranks find one another: an all-gather of small messages before any transport exists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  /// Every rank gives its address and gets all, by rank (its own too). Descriptors are duplicated: the receiver owns its
  /// own, the sender keeps its. Blocks until all ranks have come or `deadline_ns` (monotonic).
  /// Errors: deadline_exceeded (names the ranks that are missing), peer_failed (names the rank), invalid_argument.
  virtual Result<std::vector<Address>> all_gather(const Address& own, std::int64_t deadline_ns) = 0;
};

/// `n` ends of one in-process bootstrap, for n threads.
std::vector<std::unique_ptr<Bootstrap>> make_in_process_bootstrap(std::uint32_t n);

/// Processes of one user on one machine that share `job` (any text). Rank 0 listens on an abstract UNIX socket named from
/// user and job; all others connect to it. Peers of other users are dropped. Blocks until connected.
Result<std::unique_ptr<Bootstrap>> make_local_bootstrap(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns);

}  // namespace rondo
