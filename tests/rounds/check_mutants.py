#!/usr/bin/env python3
"""The simulation of a bootstrap finds each of these faults in src/bootstrap's rounds, attendance, approach and tree.

check_mutants.py COMPILER LIBRARY: compiles them with one rule broken and runs the simulation with the rest of the library; exit 1, and the names, when it
finds nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import mutants  # noqa: E402 (it lies beside this folder)

# What is broken, the text that says it, and what stands there instead.
MUTANTS = [
    ("rank 0 spreads before all have given", "if (state_ != State::gathering || std::find(given_.begin(), given_.end(), false) != given_.end()) return;",
     "if (state_ != State::gathering) return;"),
    ("a rank gives again and again", "  state_ = State::waiting;\n", ""),
    ("a gift counts for the next round, too", "  given_.assign(given_.size(), false);\n  unsent_.assign(", "  unsent_.assign("),
    ("what all gave isn't sent on", "letters_.push_back({child, Letter::Kind::all});", "if (is_root()) letters_.push_back({child, Letter::Kind::all});"),
    ("a round is over while children don't have what all gave", "if (std::find(unsent_.begin(), unsent_.end(), true) == unsent_.end()) state_", "state_"),
    ("a gift is forgotten", "      given_[*child] = true;\n", ""),
    ("who asks who is missing gets no answer", "if (in_round() || !awaited_.empty()) letters_", "if (false) letters_"),
    ("who is in no round says nothing though it waits", "if (in_round() || !awaited_.empty()) letters_", "if (in_round()) letters_"),
    ("who answers counts as missing", "rank >= spoke_.size() || spoke_[rank];", "rank >= spoke_.size();"),
    ("what ranks miss isn't looked at", "      reported_.insert(reported_.end(), ranks.begin(), ranks.end());\n", ""),
    ("rank 0 doesn't ask who is missing", "  asked_ = true;\n  for (std::uint32_t rank = 1; rank < place_.size; ++rank) letters_.push_back({rank, Letter::Kind::who_is_missing});",
     "  fail(missing());"),
    ("a verdict is passed over", "if (state_ != State::failed) fail(verdict);", ""),
    ("rank 0 may not leave while others wait for it by way of others", "  if (cause.code == Errc::io && state_ == State::waiting && peer == 0 && place_.parent != 0) return;\n", ""),
    ("the parent may leave while it is waited for", "state_ == State::waiting && peer == 0 && place_.parent != 0", "state_ == State::waiting && peer == place_.parent"),
    ("a rank that gathers may be left", "  fail(lost(peer, whom_(peer), cause));", "  if (state_ != State::gathering) fail(lost(peer, whom_(peer), cause));"),
    ("who has no patience left blames rank 0", "return fail(late({place_.parent}));", "return fail(late({0}));"),
    ("time passes and nobody minds", "if (!in_round() || now_ns < next_ns()) return;", "if (!in_round() || now_ns >= 0) return;"),
    ("the others have as little patience as rank 0", "return deadline_ns_ + verdict_grace_ns * place_.depth;", "return deadline_ns_;"),
    ("the tree has a hole", "  return next == children.end() ? end : *next;", "  return next == children.end() ? end - 1 : *next;"),
    ("a rank is its children's grandparent", "    place.parent = at;\n", "    place.parent = at / 2;\n"),
    ("who has gone from a meeting is awaited", "  refuse(last_words ? lost(", "  if (!last_words) refuse(last_words ? lost("),
    ("the last words of who has gone aren't heard", ": last_words.error());", ": in_bootstrap(Errc::peer_failed, name_of(awaited_[seat], whom_[seat]) + \" went away\"));"),
    ("whoever knocks twice is taken in twice", "const bool twice = hello.rank == holder_ || (seat && come_[*seat]);", "const bool twice = hello.rank == holder_;"),
    ("all have come though one is missing", "      missing_(awaited_.size()) {}", "      missing_(awaited_.size() - 1) {}"),
    ("a rank doesn't try again", "  if (failure != Failure::stranger) return std::nullopt;", "  if (failure != Failure::stranger) return in_bootstrap(Errc::io, why_);"),
    ("a refusal is passed over", "  if (failure == Failure::refused) return why;\n", ""),
    ("whoever was hung up on goes on for ever", "  if (hung_up_ && now_ns > hung_up_ns_ + loss_ns) return hung_up_;\n", ""),
    ("a rank waits longer than its time", "  if (now_ns <= give_up_ns_) return std::nullopt;", "  if (now_ns >= 0) return std::nullopt;"),
]
SOURCES = tuple(f"src/bootstrap/{name}" for name in ("rounds.cpp", "attendance.cpp", "approach.cpp", "tree.cpp"))
WORLD = ("tests/rounds/simulation.cpp", "tests/rounds/world_meeting.cpp", "tests/rounds/world_rounds.cpp", "tests/rounds/network.cpp",
         "tests/rounds/program/simulate_rounds.cpp")

if __name__ == "__main__":
    simulation = mutants.Simulation(sys.argv[1], SOURCES, WORLD, ["1", "60000", "12"], [sys.argv[2]])
    sys.exit(mutants.report(simulation.wrong(MUTANTS)))
