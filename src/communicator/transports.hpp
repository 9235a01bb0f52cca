// The one place that names concrete transports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "communicator/rank_info.hpp"
#include "rondo/transport.hpp"

namespace rondo {

struct TransportRequest {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint64_t segment_bytes = 0;
  bool descriptors = true;  ///< whether the ranks can hand them to one another
  std::vector<std::string> addresses;     ///< of this rank's host, for the others: one for each interface
  Interfaces interfaces = {};             ///< who uses which
  std::vector<std::uint32_t> hosts = {};  ///< by rank: links serve those of other hosts alone; empty: all
};

/// What maps memory among `size` ranks of one machine.
std::unique_ptr<Transport> make_memory_transport(std::uint32_t rank, std::uint32_t size, std::uint64_t segment_bytes);

/// Whether this machine has a network that UCX serves better than TCP does.
bool has_infiniband();

/// The version of the UCX that this library would use, and its file. Error unsupported: it was built without, or none is found; says which.
Result<std::string> find_ucx();

/// By rank a number of its host, where ranks of one host are to share memory and hosts to send one another messages; empty where one transport does for
/// all: it is asked for by name, all share memory, or none do. Equal on all ranks.
std::vector<std::uint32_t> hosts_apart(const std::string& name, const std::vector<RankInfo>& ranks);

/// The named transport, or with an empty name the first that can serve all ranks (with request.hosts, the links of "shm+tcp" and the like).
/// Errors: invalid_argument (unknown name), unsupported (with each transport's reason).
Result<std::unique_ptr<Transport>> choose_transport(const std::string& name, const std::vector<RankInfo>& ranks, const TransportRequest& request);

}  // namespace rondo
