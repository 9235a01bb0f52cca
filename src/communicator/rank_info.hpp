// What a rank tells the others about itself at bootstrap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/planner.hpp"
#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// An interface of a rank's host, by which others reach it.
struct RankInterface {
  std::string address;            ///< numeric
  std::uint32_t shared_cpus = 0;  ///< processors of the smallest part of the machine that it and the rank are both in: the fewer the nearer; 0: unknown
};

struct RankInfo {
  std::uint32_t rank = 0;
  std::string host;            ///< host_identity()
  std::string host_name;
  std::uint32_t user = 0;      ///< whose process it is: others' may not hand it memory
  std::string meeting;         ///< a name that nobody else knows, at which the ranks of its host may meet
  std::int64_t process = 0;
  std::vector<RankInterface> interfaces;  ///< one or more
  bool infiniband = false;     ///< its machine has such a device
  std::uint64_t trial_address = 0;    ///< in its process: of a word that others try to read there
  std::uint64_t trial_value = 0;      ///< what they then find
  std::uint64_t share_bytes = 0;
  std::uint64_t symmetric_bytes = 0;  ///< room for memory that peers map; the smallest is every rank's
  std::string algorithm;       ///< forced; must be equal on all ranks
  bool strict = false;         ///< must be equal on all ranks
  bool integrity = false;      ///< likewise
  std::uint64_t coalesce_bytes = 0;  ///< likewise
  std::string transport;       ///< forced; must be equal on all ranks
  CoreFigures core;            ///< what is known of its machine's cores; rank 0's are everybody's
  std::vector<std::uint32_t> cpus;  ///< that it may run on
  std::string view;            ///< the name of what it sees of its machine (views.hpp)
};

Address pack(const RankInfo& info);
/// Errors (invalid_argument) when the bytes are another version's or make no sense.
Result<RankInfo> unpack_rank_info(const Address& address);

}  // namespace rondo
