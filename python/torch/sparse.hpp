// Sums of sparse tensors.
#pragma once

#include <chrono>
#include <memory>

#include "group.hpp"
#include "work.hpp"

namespace rondo_torch {

/// A process group's sums of sparse tensors: each is several calls of the library, of which later ones depend on what earlier ones say. A thread makes them,
/// one sum after the other, on a communicator of their own, whose order of calls is theirs. Ranks make one each, with their first sum. Thread-safe.
class SparseSums {
 public:
  explicit SparseSums(const Group& of);
  ~SparseSums();
  SparseSums(const SparseSums&) = delete;
  SparseSums& operator=(const SparseSums&) = delete;

  /// Starts the sum of all ranks' tensors like the operation's output, which gets it.
  c10::intrusive_ptr<RondoWork> start(Operation operation, std::chrono::milliseconds timeout);
  void abort();
  /// Waits for what was started; what takes longer than 10 s is aborted.
  void close();

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;  // with the thread, which nobody waits for
};

}  // namespace rondo_torch
