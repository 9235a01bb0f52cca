#include "verifier/hand_plans.hpp"

#include <functional>

#include "support/plan_steps.hpp"

namespace rondo::test {
namespace {

Step skewed(Step step, std::uint32_t skew) {
  step.skew = skew;
  return step;
}

PlanHeader header(Collective collective, std::uint32_t ranks, std::uint32_t chunks, std::uint32_t scratch,
                  std::uint32_t depth) {
  PlanHeader made;
  made.algorithm = "by hand";
  made.collective = collective;
  made.ranks = ranks;
  made.chunks_per_block = chunks;
  made.scratch_chunks = scratch;
  made.depth = depth;
  return made;
}

std::vector<std::uint32_t> peers_of(std::uint32_t rank, std::uint32_t ranks) {
  std::vector<std::uint32_t> peers;
  for (std::uint32_t k = 1; k < ranks; ++k) peers.push_back((rank + k) % ranks);
  return peers;
}

Plan table(PlanHeader made, const std::function<Program(std::uint32_t rank)>& program) {
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < made.ranks; ++rank) programs.push_back(program(rank));
  return {std::move(made), std::move(programs)};
}

void wait_for_all(Lane& lane, std::uint32_t rank, std::uint32_t ranks, std::uint32_t number, std::uint32_t lag,
                  std::uint32_t skew = 0, std::uint32_t of_lane = 0) {
  for (const std::uint32_t peer : peers_of(rank, ranks))
    lane.steps.push_back(skewed(wait(peer, of_lane, number, lag), skew));
}

/// The sources of rank `rank`'s shard: its own input, the peers' slots, in the order of ranks.
Operands shard_sources(std::uint32_t rank, std::uint32_t ranks, Operand own, Buffer theirs,
                                   std::uint32_t index) {
  Operands sources;
  for (std::uint32_t peer = 0; peer < ranks; ++peer)
    sources.push_back(peer == rank ? own : Operand{theirs, peer, index, 1});
  return sources;
}

Program one_shot_program(std::uint32_t rank, std::uint32_t ranks, std::uint32_t depth, bool credits) {
  Lane lane;
  if (credits) wait_for_all(lane, rank, ranks, 1, depth);
  lane.steps.push_back(copy(input(0), {scratch(0)}));
  lane.steps.push_back(signal());
  wait_for_all(lane, rank, ranks, 0, 0);
  lane.steps.push_back(combine(shard_sources(rank, ranks, input(0), Buffer::scratch, 0), {output(0)}, true));
  if (credits) lane.steps.push_back(signal());
  return {{lane}};
}

}  // namespace

Plan one_shot(std::uint32_t ranks, std::uint32_t depth) {
  const PlanHeader made = header(Collective::all_reduce, ranks, 1, 1, depth);
  return table(made, [&](std::uint32_t rank) { return one_shot_program(rank, ranks, made.depth, true); });
}

Plan one_shot_inlined(std::uint32_t ranks) {
  PlanHeader made = header(Collective::all_reduce, ranks, 1, 1, 1);
  made.protocol = Protocol::inlined;
  return table(made, [&](std::uint32_t rank) { return one_shot_program(rank, ranks, 1, false); });
}

Plan two_shot(std::uint32_t ranks) {
  const PlanHeader made = header(Collective::all_reduce, ranks, ranks, ranks + 1, 3);
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    wait_for_all(lane, rank, ranks, 2, made.depth);
    lane.steps.push_back(copy(input(0, self, ranks), {scratch(0, self, ranks)}));
    lane.steps.push_back(signal());
    wait_for_all(lane, rank, ranks, 0, 0, 1);
    lane.steps.push_back(
        skewed(combine(shard_sources(rank, ranks, input(rank), Buffer::scratch, rank), {output(rank), scratch(ranks)}, true), 1));
    lane.steps.push_back(skewed(signal(), 1));
    for (const std::uint32_t peer : peers_of(rank, ranks)) {
      lane.steps.push_back(skewed(wait(peer, 0, 1), 2));
      lane.steps.push_back(skewed(copy(scratch(ranks, peer), {output(peer)}), 2));
    }
    lane.steps.push_back(skewed(signal(), 2));
    return Program{{lane}};
  });
}

Plan two_shot_lanes(std::uint32_t ranks) {
  const PlanHeader made = header(Collective::all_reduce, ranks, ranks, ranks + 1, 2);
  return table(made, [&](std::uint32_t rank) {
    Lane scatters;
    wait_for_all(scatters, rank, ranks, 1, made.depth, 0, 1);
    scatters.steps.push_back(copy(input(0, self, ranks), {scratch(0, self, ranks)}));
    scatters.steps.push_back(signal());
    wait_for_all(scatters, rank, ranks, 0, 0);
    scatters.steps.push_back(
        combine(shard_sources(rank, ranks, input(rank), Buffer::scratch, rank), {output(rank), scratch(ranks)}, true));
    const auto reduced = static_cast<std::uint32_t>(scatters.steps.size() - 1);
    Lane gathers;
    gathers.steps.push_back(after(signal(), 0, reduced));
    for (const std::uint32_t peer : peers_of(rank, ranks)) {
      gathers.steps.push_back(wait(peer, 1, 0));
      gathers.steps.push_back(copy(scratch(ranks, peer), {output(peer)}));
    }
    gathers.steps.push_back(signal());
    return Program{{scatters, gathers}};
  });
}

Plan two_shot_direct(std::uint32_t ranks) {
  PlanHeader made = header(Collective::all_reduce, ranks, ranks, 0, 1);
  made.protocol = Protocol::direct;
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    lane.steps.push_back(signal());
    wait_for_all(lane, rank, ranks, 0, 0);
    lane.steps.push_back(combine(shard_sources(rank, ranks, input(rank), Buffer::input, rank), {output(rank)}, true));
    lane.steps.push_back(signal());
    wait_for_all(lane, rank, ranks, 1, 0);
    for (const std::uint32_t peer : peers_of(rank, ranks)) lane.steps.push_back(copy(output(peer, peer), {output(peer)}));
    lane.steps.push_back(signal());
    wait_for_all(lane, rank, ranks, 2, 0);
    return Program{{lane}};
  });
}

Plan ring(std::uint32_t ranks, std::uint32_t channels) {
  const PlanHeader made = header(Collective::all_reduce, ranks, ranks * channels, 0, 2);
  return table(made, [&](std::uint32_t rank) {
    const std::uint32_t next = (rank + 1) % ranks;
    const std::uint32_t before = (rank + ranks - 1) % ranks;
    Program program;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const auto chunk = [&](std::uint32_t s) { return channel * ranks + (rank + 2 * ranks - s) % ranks; };
      Lane lane;
      lane.steps.push_back(copy(input(chunk(0)), {link(next, channel)}));
      for (std::uint32_t s = 1; s < ranks; ++s) {
        Operands to = {link(next, channel)};
        if (s + 1 == ranks) to.push_back(output(chunk(s)));
        lane.steps.push_back(combine({link(before, channel), input(chunk(s))}, to, s + 1 == ranks));
      }
      for (std::uint32_t s = ranks; s < 2 * ranks - 1; ++s) {
        Operands to = {output(chunk(s))};
        if (s + 2 < 2 * ranks) to.push_back(link(next, channel));
        lane.steps.push_back(copy(link(before, channel), to));
      }
      program.lanes.push_back(lane);
    }
    return program;
  });
}

Plan tree_broadcast(std::uint32_t ranks, std::uint32_t root) {
  PlanHeader made = header(Collective::broadcast, ranks, 1, 0, 2);
  made.root = root;
  return table(made, [&](std::uint32_t rank) {
    const std::uint32_t position = (rank + ranks - root) % ranks;
    Operands to = {output(0)};
    for (const std::uint32_t child : {2 * position + 1, 2 * position + 2})
      if (child < ranks) to.push_back(link((child + root) % ranks));
    const Operand from = position == 0 ? input(0) : link(((position - 1) / 2 + root) % ranks);
    return Program{{Lane{{copy(from, to)}}}};
  });
}

Plan broadcast_slots(std::uint32_t ranks, std::uint32_t root, std::uint32_t depth) {
  PlanHeader made = header(Collective::broadcast, ranks, 1, 1, depth);
  made.root = root;
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    if (rank != root) return Program{{Lane{{wait(root, 0, 0), copy(scratch(0, root), {output(0)}), signal()}}}};
    wait_for_all(lane, rank, ranks, 0, depth);
    lane.steps.push_back(copy(input(0), {scratch(0), output(0)}));
    lane.steps.push_back(signal());
    return Program{{lane}};
  });
}

Plan broadcast_shared_out(std::uint32_t ranks, std::uint32_t root) {
  constexpr std::uint32_t chunks = 2;
  PlanHeader made = header(Collective::broadcast, ranks, chunks, 0, 1);
  made.protocol = Protocol::direct;
  made.neutral = false;
  made.root = root;
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    lane.steps = {signal()};
    if (rank == root) {
      wait_for_all(lane, rank, ranks, 0, 0);
      for (std::uint32_t chunk = chunks; chunk-- > 0;)
        for (const std::uint32_t peer : peers_of(rank, ranks)) lane.steps.push_back(once(copy(input(chunk), {output(chunk, peer)}), peer, chunk));
      lane.steps.push_back(copy(input(0, self, chunks), {output(0, self, chunks)}));
      lane.steps.push_back(signal());
      wait_for_all(lane, rank, ranks, 1, 0);
    } else {
      lane.steps.push_back(wait(root, 0, 0));
      for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) lane.steps.push_back(once(copy(input(chunk, root), {output(chunk)}), rank, chunk));
      lane.steps.push_back(signal());
      lane.steps.push_back(wait(root, 0, 1));
    }
    return Program{{lane}};
  });
}

Plan chain_reduce(std::uint32_t ranks, std::uint32_t root) {
  PlanHeader made = header(Collective::reduce, ranks, 2, 0, 1);
  made.root = root;
  return table(made, [&](std::uint32_t rank) {
    const std::uint32_t position = (rank + ranks - root) % ranks;
    const Operand from = link((rank + 1) % ranks, 0, 2);
    const Operand to = link((rank + ranks - 1) % ranks, 0, 2);
    if (position + 1 == ranks) return Program{{Lane{{copy(input(0, self, 2), {to})}}}};
    const bool last = position == 0;
    return Program{{Lane{{combine({input(0, self, 2), from}, {last ? output(0, self, 2) : to}, last)}}}};
  });
}

Plan gather_slots(std::uint32_t ranks) {
  const PlanHeader made = header(Collective::all_gather, ranks, 1, 1, 2);
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    wait_for_all(lane, rank, ranks, 1, made.depth);
    lane.steps.push_back(copy(input(0), {scratch(0), output(rank)}));
    lane.steps.push_back(signal());
    for (const std::uint32_t peer : peers_of(rank, ranks)) {
      lane.steps.push_back(wait(peer, 0, 0));
      lane.steps.push_back(copy(scratch(0, peer), {output(peer)}));
    }
    lane.steps.push_back(signal());
    return Program{{lane}};
  });
}

Plan scatter_slots(std::uint32_t ranks) {
  const PlanHeader made = header(Collective::reduce_scatter, ranks, 1, ranks, 2);
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    for (const std::uint32_t peer : peers_of(rank, ranks)) {
      lane.steps.push_back(wait(peer, 0, ranks - 1, made.depth));
      lane.steps.push_back(copy(input(peer), {scratch(rank, peer)}));  // put: into the peer's scratch
      lane.steps.push_back(signal());
    }
    Operands sources;
    for (std::uint32_t from = 0; from < ranks; ++from) {
      if (from == rank) {
        sources.push_back(input(rank));
        continue;
      }
      lane.steps.push_back(wait(from, 0, (rank + ranks - from) % ranks - 1));
      sources.push_back(scratch(from));
    }
    lane.steps.push_back(combine(sources, {output(0)}, true));
    lane.steps.push_back(signal());
    return Program{{lane}};
  });
}

Plan all_to_all_slots(std::uint32_t ranks) {
  const PlanHeader made = header(Collective::all_to_all, ranks, 1, ranks, 2);
  return table(made, [&](std::uint32_t rank) {
    Lane lane;
    wait_for_all(lane, rank, ranks, 1, made.depth);
    lane.steps.push_back(copy(input(0, self, ranks), {scratch(0, self, ranks)}));
    lane.steps.push_back(signal());
    lane.steps.push_back(copy(input(rank), {output(rank)}));
    for (const std::uint32_t peer : peers_of(rank, ranks)) {
      lane.steps.push_back(wait(peer, 0, 0));
      lane.steps.push_back(copy(scratch(rank, peer), {output(peer)}));
    }
    lane.steps.push_back(signal());
    return Program{{lane}};
  });
}

/// Towards the root and back: in place the root's own block is its part of the larger buffer.
Plan gather_to_root(std::uint32_t ranks, std::uint32_t root) {
  PlanHeader made = header(Collective::gather, ranks, 2, 0, 2);
  made.root = root;
  return table(made, [&](std::uint32_t rank) {
    if (rank != root) return Program{{Lane{{copy(input(0, self, 2), {link(root, 0, 2)})}}}};
    Lane lane{{copy(input(0, self, 2), {output(2 * root, self, 2)})}};
    for (const std::uint32_t peer : peers_of(rank, ranks)) lane.steps.push_back(copy(link(peer, 0, 2), {output(2 * peer, self, 2)}));
    return Program{{lane}};
  });
}

Plan scatter_from_root(std::uint32_t ranks, std::uint32_t root) {
  PlanHeader made = header(Collective::scatter, ranks, 2, 0, 2);
  made.root = root;
  return table(made, [&](std::uint32_t rank) {
    if (rank != root) return Program{{Lane{{copy(link(root, 0, 2), {output(0, self, 2)})}}}};
    Lane lane{{copy(input(2 * root, self, 2), {output(0, self, 2)})}};
    for (const std::uint32_t peer : peers_of(rank, ranks)) lane.steps.push_back(copy(input(2 * peer, self, 2), {link(peer, 0, 2)}));
    return Program{{lane}};
  });
}

Plan chain_scan(std::uint32_t ranks) {
  const PlanHeader made = header(Collective::scan, ranks, 1, 0, 1);
  return table(made, [&](std::uint32_t rank) {
    Operands to{output(0)};
    if (rank + 1 < ranks) to.push_back(link(rank + 1));
    Lane lane{{rank == 0 ? copy(input(0), to) : combine({link(rank - 1), input(0)}, to, false)}};
    lane.steps.push_back(copy(output(0), {output(0)}));
    lane.steps.back().finish = true;
    return Program{{lane}};
  });
}

Plan send_receive() {
  const PlanHeader made = header(Collective::send_recv, 2, 1, 0, 2);
  return {made, {Program{{Lane{{copy(input(0), {link(1)})}}}}, Program{{Lane{{copy(link(0), {output(0)})}}}}}};
}

Plan flag_barrier(std::uint32_t ranks) {
  return table(header(Collective::barrier, ranks, 1, 0, 1), [&](std::uint32_t rank) {
    Lane lane;
    lane.steps.push_back(signal());
    wait_for_all(lane, rank, ranks, 0, 0);
    return Program{{lane}};
  });
}

std::vector<NamedPlan> hand_plans() {
  std::vector<NamedPlan> plans;
  plans.push_back({"send_receive", send_receive()});
  for (std::uint32_t p = 2; p <= 4; ++p) {
    const std::string ranks = " of " + std::to_string(p);
    plans.push_back({"one_shot" + ranks, one_shot(p)});
    plans.push_back({"one_shot with one slot" + ranks, one_shot(p, 1)});
    plans.push_back({"broadcast_slots" + ranks, broadcast_slots(p, 0, 2)});
    plans.push_back({"broadcast_slots with one slot" + ranks, broadcast_slots(p, 1, 1)});
    plans.push_back({"broadcast_shared_out" + ranks, broadcast_shared_out(p, p - 1)});
    plans.push_back({"one_shot_inlined" + ranks, one_shot_inlined(p)});
    plans.push_back({"two_shot" + ranks, two_shot(p)});
    plans.push_back({"two_shot_lanes" + ranks, two_shot_lanes(p)});
    plans.push_back({"two_shot_direct" + ranks, two_shot_direct(p)});
    plans.push_back({"ring" + ranks, ring(p, 1)});
    plans.push_back({"ring with 2 channels" + ranks, ring(p, 2)});
    plans.push_back({"tree_broadcast" + ranks, tree_broadcast(p, 1)});
    plans.push_back({"chain_reduce" + ranks, chain_reduce(p, 1)});
    plans.push_back({"gather_slots" + ranks, gather_slots(p)});
    plans.push_back({"scatter_slots" + ranks, scatter_slots(p)});
    plans.push_back({"all_to_all_slots" + ranks, all_to_all_slots(p)});
    plans.push_back({"gather_to_root" + ranks, gather_to_root(p, 1)});
    plans.push_back({"scatter_from_root" + ranks, scatter_from_root(p, 1)});
    plans.push_back({"chain_scan" + ranks, chain_scan(p)});
    plans.push_back({"flag_barrier" + ranks, flag_barrier(p)});
  }
  return plans;
}

}  // namespace rondo::test
