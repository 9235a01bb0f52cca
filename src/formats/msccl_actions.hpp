// Steps of a plan as MSCCL says them: each has one source, one destination, and at most one message either way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::formats {

/// One step of MSCCL's. Buffers are the rank's own.
struct Action {
  const char* type = "";            ///< "s", "r", "rcs", ...
  std::optional<Operand> source;
  std::optional<Operand> destination;
  std::optional<Operand> send;      ///< a link
  std::optional<Operand> receive;   ///< a link
  std::uint32_t count = 1;          ///< chunks
};

/// Turns the moves of one lane into actions that do the same, in their order.
class ActionMaker {
 public:
  /// `fused`: an action may receive and send at once. `scratch`: the first chunk of scratch that the plan doesn't use; grows by what steps keep there.
  ActionMaker(const PlanHeader& header, std::uint32_t rank, bool fused, std::uint32_t& scratch)
      : header_(header), rank_(rank), fused_(fused), scratch_(scratch) {}

  /// Appends a copy's or reduce's actions. Empty: done; else what MSCCL can't say of it.
  std::string add(const Step& step, std::vector<Action>& actions);

 private:
  struct Sides {
    std::vector<Operand> sources, receives, destinations, sends;
  };

  std::string part(const Step& step, Sides& sides) const;
  bool same_place(const Operand& a, const Operand& b) const;
  Operand spare(std::uint32_t count);
  void copy(Sides& sides);
  void reduce(Sides& sides);
  Operand start(Sides& sides);
  void receive_into(const char* type, const char* and_send, std::optional<Operand> source, const Operand& destination, Sides& sides);
  void pass_on(const Operand& from, const Sides& sides);

  const PlanHeader& header_;
  const std::uint32_t rank_;
  const bool fused_;
  std::uint32_t& scratch_;
  std::uint32_t count_ = 1;
  std::vector<Action>* actions_ = nullptr;
};

}  // namespace rondo::formats
