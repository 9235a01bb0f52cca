#!/usr/bin/env python3
"""The simulation of shrink()'s agreement finds each of these faults in src/communicator/survivors.cpp and hearsay.cpp.

check_mutants.py COMPILER: compiles the agreement with one rule broken and runs the simulation; exit 1, and the names, when it finds nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import mutants  # noqa: E402 (it lies beside this folder)

SEEDS = "30000"
# What is broken, the text that says it, and what stands there instead.
MUTANTS = [
    ("complete doesn't lead to a meeting", "Event::complete, State::meeting", "Event::complete, State::voting"),
    ("a refusal that is seen while gathering is passed over", "Event::one_refused, State::given_up},\n    Edge{State::gathering, Event::refused",
     "Event::one_refused, State::gathering},\n    Edge{State::gathering, Event::refused"),
    ("who refuses while gathering goes on gathering", "Edge{State::gathering, Event::refused, State::given_up}", "Edge{State::gathering, Event::refused, State::gathering}"),
    ("who has met goes on without the others' votes", "Event::met, State::voting", "Event::met, State::going_on"),
    ("who misses somebody gives up", "Event::lost, State::voting", "Event::lost, State::given_up"),
    ("who refuses at the meeting votes all the same", "Edge{State::meeting, Event::refused, State::given_up}", "Edge{State::meeting, Event::refused, State::voting}"),
    ("all have joined, and it gives up", "Event::all_joined, State::going_on", "Event::all_joined, State::given_up"),
    ("one is lost, and it goes on", "Event::one_lost, State::gathering", "Event::one_lost, State::going_on"),
    ("one refuses, and it goes on", "Edge{State::voting, Event::one_refused, State::given_up}", "Edge{State::voting, Event::one_refused, State::going_on}"),
    ("a word seen before its rank was known to have gone is its last", "peers_[peer] = {word, gone || word.left}", "peers_[peer] = {word, true}"),
    ("a rank that has gone is waited for", "peers_[peer] = {word, gone || word.left}", "peers_[peer] = {word, word.left}"),
    ("the votes aren't waited for", "if (vote <= Vote::entered) return std::nullopt;", "if (vote < Vote::entered) return std::nullopt;"),
    ("whoever died without a vote isn't lost", "return vote <= Vote::entered && peer.final ? Vote::lost : vote;", "return vote;"),
    ("a rank of a later attempt has voted for this one", "if (peer.word.attempt > own_.attempt) return Vote::lost;", "if (peer.word.attempt > own_.attempt) return Vote::joined;"),
    ("a refusal counts for less than a loss", "return refused ? Event::one_refused : lost ? Event::one_lost :", "return lost ? Event::one_lost : refused ? Event::one_refused :"),
    ("whoever gives up while gathering lets the others wait for its vote", " || (event == Event::one_refused && state_ == State::gathering)", ""),
    ("the ranks that entered earlier attempts are members", "return peer.word.attempt > own_.attempt || (peer.word.attempt == own_.attempt && peer.word.vote != Vote::none);",
     "return peer.word.attempt != 0;"),
    ("nobody is known to stay away", "return peer != rank_ && vote_of(peers_[peer]) >= Vote::lost;", "return peer == size_t(-1);"),
    ("who has gone by somebody's word is listened to", "if (peer == rank_ || has_gone(peer) || told.size()", "if (peer == rank_ || told.size()"),
    ("what is told of others' words is passed over", "    learn(rank, told[rank] & ~gone_bit);", "    if (rank == peer) learn(rank, told[rank] & ~gone_bit);"),
    ("what is told last counts, though it be older", "if (said <= word(peer)) return;", "if (said == word(peer)) return;"),
    ("that somebody has gone isn't passed on", "  has_news_ = true;", ""),
    ("who counts as gone for others does not for this rank", "    count_as_gone(rank);\n  }", "  }"),
    ("a rank that others count as gone doesn't find out", "if ((told[rank] & gone_bit) != 0) given_up_by_ = peer;", ""),
    ("a word is the last of who has gone, whatever others have heard", "told_gone_[rank] != gone_) return false;", "told_gone_[rank] > gone_) return false;"),
    ("one that tells nothing more is waited for", "!has_gone(rank) && !is_silent(table_[rank], table_[rank_])", "!has_gone(rank)"),
    ("one that has gone is waited for", "rank != rank_ && !has_gone(rank) &&", "rank != rank_ &&"),
]
SOURCES = ("src/communicator/survivors.cpp", "src/communicator/hearsay.cpp")
WORLD = ("tests/survivors/simulation.cpp", "tests/survivors/words_in_memory.cpp", "tests/survivors/words_between_hosts.cpp",
         "tests/survivors/program/simulate_survivors.cpp")

if __name__ == "__main__":
    sys.exit(mutants.report(mutants.Simulation(sys.argv[1], SOURCES, WORLD, ["1", SEEDS]).wrong(MUTANTS)))
