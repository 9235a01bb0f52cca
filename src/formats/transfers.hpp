// Steps of a plan as MSCCL++ says them: local buffers come first, and peers' follow, as its executor has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::formats {

/// One operation that moves data. Of a copy's forms, sources and destinations go in pairs.
struct Transfer {
  const char* name = "";  ///< "copy", "put", "get", "re", "res", "rre" or "rres"
  std::vector<Operand> sources;
  std::vector<Operand> destinations;
};

/// Turns the moves of one lane into transfers that do the same, in their order. What lies in between goes to scratch that the plan doesn't use.
class TransferMaker {
 public:
  /// `spare`: the first such chunk.
  TransferMaker(std::uint32_t rank, std::uint32_t spare) : rank_(rank), spare_(spare) {}

  std::vector<Transfer> make(const Step& step);

  /// How many of these chunks are used.
  std::uint32_t spares() const { return spares_; }

 private:
  void copy(const Operand& source, const std::vector<Operand>& local, const std::vector<Operand>& remote);
  void reduce(std::vector<Operand> own, std::vector<Operand> others, std::vector<Operand> local, std::vector<Operand> remote);
  void add(const char* name, std::vector<Operand> sources, std::vector<Operand> destinations);
  Operand spare(std::uint32_t count);

  std::uint32_t rank_;
  std::uint32_t spare_;
  std::uint32_t spares_ = 0;
  std::vector<Transfer> made_;
};

}  // namespace rondo::formats
