// An interpreter of plans that decides whether a plan is right: the judge that the verifier is held against. It shares
// no code with the verifier and follows docs/design/0001-plan-ir.md alone.
//
// It performs a plan for small numbers of pieces, once for each way of lying in memory that the header claims, with
// symbols for values (interpreter_values.hpp) in memory that has real aliases, slots and FIFOs, and left-over junk
// wherever nothing was written. A plan is right when in every interleaving of all lanes
//   - no rank is stuck, and every message is received, with the size with which it was sent;
//   - no two unordered accesses of different lanes meet in one place where one of them writes. What a user does to a
//     rank's input and output before the rank begins and after it ended counts as writing them;
//   - each rank's outputs hold what the collective promises when the rank ends (barrier: every rank has begun by then).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::test {

enum class Flaw : std::uint8_t { none, deadlock, race, wrong_output, unmatched_message, overlap_in_step };

/// What an interpreter found: the flaw, and in words where and for which pieces and aliases.
struct Judgement {
  Flaw flaw = Flaw::none;
  std::string where;
  bool right() const { return flaw == Flaw::none; }
};

/// What a plan asks for beyond the IR, in words; empty: nothing. `impossible`: what the interpreter couldn't perform either, e.g.
/// an operand outside its buffer. `forbidden`: it could be performed, and may even do no harm, but the IR rules it out.
struct Limits {
  std::string impossible;
  std::string forbidden;
};
Limits limits_of(const Plan& plan);

/// Performs the plan in one order and shows at each step that all other orders are equivalent to it, or finds where
/// they are not (a race). Nothing in the plan may be impossible; a wait for what doesn't exist never ends.
/// Cost: about the square of the number of steps.
Judgement judge(const Plan& plan);

/// The same for given numbers of pieces.
Judgement judge(const Plan& plan, const std::vector<std::uint32_t>& pieces);

/// Every flaw that shows in some interleaving, by walking through all of them, with steps torn in two (read, then
/// write); no further once `enough` has shown.
struct Exhaustive {
  bool complete = true;  ///< false: more than `most_states` states, so that the rest was not seen
  std::uint64_t states = 0;
  std::vector<Judgement> flaws;  ///< one of each kind, none if the plan is right
  bool shows(Flaw flaw) const;
};
Exhaustive walk_all(const Plan& plan, const std::vector<std::uint32_t>& pieces, std::uint64_t most_states, Flaw enough = Flaw::none);

/// The numbers of pieces that tell right plans from wrong ones: one, two, and so many that every slot is reused while
/// the most skewed step still works on its former tenant. Inlined plans have one piece.
std::vector<std::uint32_t> telling_pieces(const Plan& plan);

std::string to_string(Flaw flaw);

}  // namespace rondo::test
