// The calls that a thread collects between group_begin() and group_end(), of one communicator or of several.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/operation.hpp"
#include "rondo/communicator.hpp"

namespace rondo {

/// Of one thread. It begins with the first group_begin() and ends when each has had its group_end(), whatever communicators they named.
class ThreadGroup {
 public:
  using Owner = std::shared_ptr<Communicator::Impl>;  // shared: a communicator may be destroyed within its group
  struct Part {
    Owner communicator;
    std::uint32_t depth = 0;  ///< begun and not ended yet
    std::vector<std::shared_ptr<Operation>> operations;
  };

  static ThreadGroup& of_this_thread();
  /// Whether calls of this communicator are collected on this thread. One load where no group is open.
  static bool collects(const Communicator::Impl* communicator) { return anything_open != 0 && of_this_thread().find(communicator) != nullptr; }

  void begin(Owner communicator);
  Part* find(const Communicator::Impl* communicator);
  /// What is to be run now: nothing while other group_begin()s await their ends.
  std::vector<Part> end(Part& part);
  /// The communicator's part goes without having ended. Gives back what is to be run now, first the part that goes.
  std::vector<Part> forget(const Communicator::Impl* communicator);

 private:
  std::vector<Part> take_all_if_ended();

  // Apart from the rest, since every call reads it and it needs no constructor. Initial-exec: read without a call, also where the library is shared;
  // of the room that is kept for such variables of libraries loaded late it takes 4 bytes.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local std::uint32_t anything_open;  ///< parts
  std::vector<Part> parts_;
};

}  // namespace rondo
