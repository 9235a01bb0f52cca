// The running ranks of all participants: started together, spoken to one participant at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/participants.hpp"
#include "compare/protocol.hpp"

namespace compare {

/// What a participant's ranks answered: the slowest rank's time, the sum of wrong elements.
struct Answer {
  double ns = 0;
  std::uint64_t wrong = 0;
};

/// Owns the processes: its destructor ends them all. One thread.
class Fleet {
 public:
  /// Starts every participant's ranks and waits until they have said hello. One that does not start, or whose rank dies
  /// later, is out of the fleet (alive() is false) with a line in `notes`.
  Fleet(std::vector<Participant> participants, std::vector<std::string>& notes);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::size_t size() const { return members_.size(); }
  const Participant& participant(std::size_t index) const { return members_[index].participant; }
  const std::string& version(std::size_t index) const { return members_[index].version; }
  bool alive(std::size_t index) const { return members_[index].alive; }
  const std::string& why_gone(std::size_t index) const { return members_[index].why_gone; }  ///< empty while alive

  /// Sends a command to all ranks of a participant and waits for their answers. Empty when the participant is gone.
  std::optional<Answer> ask(std::size_t index, const Command& command);

  /// Process ids of all ranks.
  std::vector<pid_t> pids() const;

 private:
  struct Member {
    Participant participant;
    std::string version;
    std::string why_gone;
    std::vector<pid_t> children;  // started here: ranks, or one launcher
    std::vector<pid_t> ranks;
    std::vector<int> sockets;  // by rank
    int region = -1;
    int transcript = -1;  // of a launcher: what it and its ranks print
    bool alive = false;
  };

  void start(std::size_t index);
  pid_t spawn(std::size_t index, std::uint32_t rank);
  void accept_all();
  void accept_one();
  bool complete() const;
  void give_up(Member& member, const std::string& why);
  std::string how_ended(Member& member);
  void stop(Member& member);

  std::vector<Member> members_;
  std::vector<std::string>& notes_;
  std::string socket_name_;
  std::string folder_;  // for libraries that meet through files
  int listener_ = -1;
};

}  // namespace compare
