// Plans made by hand, of as many kinds as the IR has means: what the interpreter and the verifier are tried on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::test {

/// Each rank puts its input into a slot, and reduces everyone's.
Plan one_shot(std::uint32_t ranks, std::uint32_t depth = 2);
/// The same with scratch in flag lines: one piece, no credits.
Plan one_shot_inlined(std::uint32_t ranks);
/// Each rank reduces its shard from the peers' slots and collects the other shards; three pieces under way at once.
Plan two_shot(std::uint32_t ranks);
/// The same as two lanes that `after` ties together.
Plan two_shot_lanes(std::uint32_t ranks);
/// All-reduce straight from peers' inputs and outputs.
Plan two_shot_direct(std::uint32_t ranks);
/// The ring all-reduce over links, `channels` lanes of it.
Plan ring(std::uint32_t ranks, std::uint32_t channels);
/// Root's input along a binary tree of links.
Plan tree_broadcast(std::uint32_t ranks, std::uint32_t root);
/// Root's input through its slots; nothing but credits keeps it from running away.
Plan broadcast_slots(std::uint32_t ranks, std::uint32_t root, std::uint32_t depth);
/// Root's input straight into outputs, of which either end of each copy takes its half, or more.
Plan broadcast_shared_out(std::uint32_t ranks, std::uint32_t root);
/// Sums along a chain of links to the root.
Plan chain_reduce(std::uint32_t ranks, std::uint32_t root);
/// Through slots: all-gather, reduce-scatter, all-to-all, and one rank's input to another.
Plan gather_slots(std::uint32_t ranks);
Plan scatter_slots(std::uint32_t ranks);
Plan all_to_all_slots(std::uint32_t ranks);
Plan send_receive();
/// Over links: the blocks of all ranks to the root, the root's blocks to all, and sums of the ranks up to one's own.
Plan gather_to_root(std::uint32_t ranks, std::uint32_t root);
Plan scatter_from_root(std::uint32_t ranks, std::uint32_t root);
Plan chain_scan(std::uint32_t ranks);
/// Everyone's flag to everyone.
Plan flag_barrier(std::uint32_t ranks);

/// All of the above for 2 to 4 ranks, by name.
struct NamedPlan {
  std::string name;
  Plan plan;
};
std::vector<NamedPlan> hand_plans();

}  // namespace rondo::test
