// From rounds to what is printed: predicted against measured, and what the choices lost.
#pragma once

#include <vector>

#include "trial.hpp"

namespace predict {

/// Virtual cores come to lie near one another or far apart; one state if the floors say that they never moved.
enum class State : std::uint8_t { only, near, far };
inline constexpr State states[] = {State::only, State::near, State::far};

/// Medians over the rounds in which the machine was in this state.
struct Line {
  State state = State::only;
  Case what;
  std::string algorithm;
  double predicted_ns = 0;  ///< asked()'s
  double measured_ns = 0;
  double floor_ns = 0;     ///< a flag between the first and the last rank; 0: ranks share processors
  std::size_t chosen = 0;  ///< in so many of these rounds
  double ratio() const { return predicted_ns / measured_ns; }
};

struct Summary {
  std::size_t lines = 0;
  double error = 0;         ///< geometric mean of max(predicted / measured, measured / predicted), less 1
  double largest = 0;       ///< the largest of these, less 1
  std::size_t choices = 0;
  double regret = 0;        ///< geometric mean over the cases of the chosen plan's time to the fastest one's; where rounds chose unlike, the median
  double worst_regret = 0;
  std::size_t above = 0;    ///< choices that lost more than most_regret
};
inline constexpr double most_regret = 1.1;

/// What was measured, by state and case, algorithms in their order, without predictions. A case and state that not all were measured in is left out.
std::vector<Line> lines_of(const std::vector<Case>& cases, const std::vector<Round>& rounds);
Summary summarise(const std::vector<Line>& lines);

const char* to_string(State state);

/// Whether two lines are of one case in one state.
bool same(const Line& a, const Line& b);

void print(const Settings& settings, const std::vector<Line>& lines);
void print(const Settings& settings, const Summary& summary);

}  // namespace predict
