// How ranks of the simulated world come to know one another's words: by looking into memory, or by what they tell one another.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "communicator/survivors.hpp"

namespace survivors_test {

using Random = std::mt19937_64;

class Words {
 public:
  virtual ~Words() = default;
  virtual void publish(std::uint32_t rank, std::uint64_t word) = 0;
  /// This rank is no more. What it had begun to say some may hear, and others not.
  virtual void crash(std::uint32_t rank) = 0;
  /// This rank's communicator is no more; what it had said all will hear.
  virtual void leave(std::uint32_t rank) = 0;
  /// One thing that can happen to this rank; its machine is told. Returns what it was, "" for nothing.
  virtual std::string step(std::uint32_t rank, rondo::Survivors& machine) = 0;
  /// All that can, now.
  virtual void catch_up(std::uint32_t rank, rondo::Survivors& machine) = 0;
  /// Whether all that a rank said is there to be heard after its crash.
  virtual bool outlive_crashes() const { return false; }
  /// Whether this rank has found out that the other is no more, or can't be reached.
  virtual bool knows_gone(std::uint32_t rank, std::uint32_t peer) const = 0;
  /// Whether the others have let this rank know that they go on without it.
  virtual bool is_given_up(std::uint32_t /*rank*/) const { return false; }
  /// Whether some ranks that live can't reach one another.
  virtual bool is_torn() const { return false; }
};

/// Words in memory that outlives whoever wrote them. What was seen is heard late and out of order.
std::unique_ptr<Words> words_in_memory(std::uint32_t ranks, Random& random);

/// Ranks of hosts: memory inside a host, messages between hosts, lost from some moment on when their sender crashes. Some worlds are `torn`: a pair can't
/// reach one another any more.
std::unique_ptr<Words> words_between_hosts(std::uint32_t ranks, Random& random);

}  // namespace survivors_test
