// check_form in parts, for whoever goes through the programs anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::plan {

/// The plan's header, and whether there is a program for each rank. Error: invalid_plan.
Result<void> check_header(const Plan& plan);

/// A wait, and where it stands.
struct PlacedWait {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
  WaitFor wait;
};

/// A copy that ranks share out, and where it stands. Its operands name their ranks.
struct PlacedOnce {
  Once word;
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
  Operand source;
  Operand destination;
};

/// The form of the programs of a plan whose header is of good form. Each is looked at once, as it is made. Errors: invalid_plan, naming rank, lane and step.
class ProgramChecks {
 public:
  ProgramChecks(const PlanHeader& header, Form form) : header_(header), form_(form) {}

  /// The next rank's, from 0 on. What it waits for may be missing.
  Result<void> add(const Program& program);

  /// When all have been added: whether what they wait for is there, and those who share out a copy mean the same one.
  Result<void> end();

  /// Instead, when one has been added and all other ranks' have the lanes and signals of that one, and no copies that are shared out.
  Result<void> end_alike() const;

 private:
  void count_signals(const Program& program);
  Result<void> check_shared_out();
  Result<void> check_target(const PlacedWait& placed, std::uint32_t rank) const;

  const PlanHeader& header_;
  const Form form_;
  std::vector<std::size_t> first_{0};    // of each rank added, among signals_, and the end
  std::vector<std::uint32_t> signals_;   // of each lane
  std::vector<PlacedWait> waits_;        // for ranks that come later
  std::vector<PlacedOnce> onces_;
};

}  // namespace rondo::plan
