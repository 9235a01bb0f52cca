// Which processes a group's ranks are, and whether they still run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo_torch {

class Processes {
 public:
  /// What this process says of itself, in a word without spaces: where its number means something, and the number.
  static std::string own();

  /// Of ranks that said these words, by rank. One that this process can't know by its number (another space of process numbers, an old kernel) is taken
  /// to run forever.
  explicit Processes(const std::vector<std::string>& words);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Whether a rank's process has ended. Any thread; never blocks.
  bool ended(std::uint32_t rank) const;

 private:
  static constexpr int unknown = -1, gone = -2;
  std::vector<int> descriptors_;  ///< of the kernel's for processes, by rank
};

}  // namespace rondo_torch
