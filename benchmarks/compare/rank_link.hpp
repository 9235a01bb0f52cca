// A rank's side of the conversation with the coordinator, and the manners every rank has: pinned unless its setting says not, never an orphan.
#pragma once

#include <cstdint>
#include <string>

#include "compare/protocol.hpp"

namespace compare {

/// What the coordinator tells a rank on its command line.
struct RankOptions {
  std::string socket;             ///< abstract name of the coordinator's socket
  std::string setting;            ///< name of the library's setting
  std::uint32_t participant = 0;  ///< which library and setting
  std::uint32_t rank = 0;         ///< MPI ranks learn theirs from MPI
  std::uint32_t ranks = 0;
  std::string folder;  ///< gloo: where its ranks find one another
  int region = -1;     ///< floor: descriptor of the shared region
  bool pin = true;     ///< on core (rank modulo cores)
};

/// Reads --socket, --participant, --rank, --ranks, --setting, --folder, --region, --free. Exits with 2 on anything
/// else.
RankOptions parse_rank_options(int argc, char** argv);

/// Dies with its parent from now on. Call before the library starts threads.
void die_with_parent();

/// Pins the calling thread, and threads it starts later, to one core of those it may use. Exits with 1 when refused.
void pin_rank(std::uint32_t rank);

/// A connected rank. A coordinator that goes away ends this process at once, even in the middle of a collective.
class RankLink {
 public:
  /// Connects and says hello. Exits with 1 when that fails: a rank without coordinator has nothing to do.
  RankLink(const RankOptions& options, std::uint32_t rank, const std::string& version);

  Command next();  ///< sleeps until the coordinator speaks
  void reply(const Reply& reply);

 private:
  int fd_ = -1;
};

}  // namespace compare
