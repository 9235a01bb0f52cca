// Walks through all lanes in one of the orders that the plan allows. The order is fixed by waits alone, never by data,
// so when one walk gets through all do, and when one is stuck all are (a marked graph).
#pragma once

#include <cstdint>
#include <vector>

#include "verifier/image.hpp"

namespace rondo::verifier {

/// Is told each step when everything that it waits for has been told.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void step(std::uint32_t lane, std::uint32_t step, std::uint32_t piece) = 0;
  /// Asked now and then: whether it needs no more of this walk.
  virtual bool has_enough() const { return false; }
};

/// A lane that can't go on, and the lane that it waits for.
struct Blocked {
  std::uint32_t step = none;
  std::uint32_t piece = 0;
  std::uint32_t on = none;  ///< lane
};

class Walk {
 public:
  /// `depth`: messages that a link holds.
  Walk(const Image& image, std::uint32_t pieces, std::uint64_t depth);

  /// False when lanes wait for one another in a circle. `observer` may be null; a walk of which it has enough ends there, and is true.
  bool run(Observer* observer);

  /// After a run that got stuck: lanes of which each waits for the next, and the last for the first.
  std::vector<Blocked> circle() const;

 private:
  struct Cursor {
    std::uint32_t turn = 0;
    std::uint32_t step = 0;
  };
  struct Waiter {
    std::uint32_t turn;
    std::uint32_t step;
    std::uint32_t lane;
    bool operator<(const Waiter& other) const {  // for a heap with the earliest on top
      return turn != other.turn ? turn > other.turn : step > other.step;
    }
  };
  struct Traffic {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };

  void advance(std::uint32_t lane, Observer* observer);
  bool ended(std::uint32_t lane) const { return cursors_[lane].turn == ends_[lane]; }
  bool ready(std::uint32_t lane, const FlatStep& step, std::uint32_t piece);
  bool links_ready(std::uint32_t lane, const FlatStep& step);
  bool passed(std::uint32_t waiter, std::uint32_t lane, std::uint32_t step, std::uint32_t turn);
  void pass_messages(const FlatStep& step);
  void wake(std::uint32_t lane);

  const Image& image_;
  const std::uint32_t pieces_;
  const std::uint64_t depth_;
  std::vector<Cursor> cursors_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::vector<Waiter>> waiters_;
  std::vector<Traffic> traffic_;
  std::vector<std::uint32_t> waits_on_;  // by lane: the lane it is blocked by
  std::vector<bool> asleep_;
  std::vector<std::uint32_t> awake_;
};

}  // namespace rondo::verifier
