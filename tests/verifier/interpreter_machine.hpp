// The machine that performs a laid-out plan: memory, links and how far each lane is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/interpreter.hpp"
#include "verifier/interpreter_model.hpp"
#include "verifier/interpreter_values.hpp"

namespace rondo::test {

/// How far all lanes are, and how many messages are on each link: all that decides which events are enabled.
struct Progress {
  std::vector<std::uint32_t> done;
  std::vector<std::uint32_t> on_link;
};

/// What is where. A message is a list of values, one a chunk.
struct Memory {
  std::vector<ValueId> places;
  std::vector<std::vector<std::vector<ValueId>>> links;  // oldest message first; short, and empty ones cost nothing to copy
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> left = {};  // copies that ranks share out, by word and piece: to how many of them one is
                                                                               // left that isn't made; made: 0
};

/// What a step has read and not yet written.
struct Latch {
  std::vector<ValueId> values;
  std::optional<Judgement> flaw;
};

class Machine {
 public:
  explicit Machine(const Model& model) : model_(model) {}

  Progress start() const;
  Memory fresh_memory() const;

  /// The next event of a lane; none at its end.
  const Event* next(const Progress& progress, std::uint32_t lane) const;
  /// Whether this event's waits are over, its messages there and the links that it sends on not full.
  bool enabled(const Progress& progress, const Event& event) const;
  /// Counts the lane's next event as done.
  void advance(Progress& progress, std::uint32_t lane) const;

  /// How many of those who share out what this event would do may still do it, itself among them; 0: another one does, or has.
  std::uint32_t left(const Memory& memory, const Event& event) const;
  /// It does; or leaves it to those who are left.
  void take(Memory& memory, const Event& event, bool does) const;

  /// The first and the second half of an event: between them other lanes may act.
  Latch read(const Memory& memory, const Event& event);
  std::optional<Judgement> write(Memory& memory, const Event& event, const Latch& latch);

  /// What is wrong when no lane can go on.
  std::optional<Judgement> at_rest(const Progress& progress) const;

  /// Whether one of them writes what the other touches.
  static bool conflict(const Event& a, const Event& b);

  Judgement flaw(Flaw kind, const std::string& where) const {
    return {kind, to_string(kind) + ": " + where + " (" + model_.circumstances() + ")"};
  }

 private:
  std::optional<Judgement> check_outputs(const Memory& memory, std::uint32_t rank);
  void begin(Memory& memory, const Event& event);

  const Model& model_;
  Values values_;
};

}  // namespace rondo::test
