// Plans made by hand for the tests.
#pragma once

#include <string>
#include <vector>

#include "rondo/plan.hpp"
#include "support/plan_steps.hpp"

namespace rondo::test {

inline PlanHeader header(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t depth = 2) {
  PlanHeader made;
  made.algorithm = "sample";
  made.ranks = ranks;
  made.chunks_per_block = chunks;
  made.depth = depth;
  return made;
}

/// One lane of a ring all-reduce over the chunks first … first + p − 1.
inline Lane ring_lane(std::uint32_t p, std::uint32_t rank, std::uint32_t first, std::uint32_t channel,
                      std::uint32_t skew_each) {
  const std::uint32_t next = (rank + 1) % p;
  const std::uint32_t previous = (rank + p - 1) % p;
  Lane lane;
  lane.steps.push_back(copy(input(first + rank), {link(next, channel)}));
  for (std::uint32_t s = 1; s < p; ++s) {
    const std::uint32_t c = first + (rank + p - s) % p;
    Operands to{link(next, channel)};
    if (s == p - 1) to.insert(to.begin(), output(c));
    lane.steps.push_back(combine({link(previous, channel), input(c)}, to, s == p - 1, skew_each * s));
  }
  for (std::uint32_t s = 0; s + 1 < p; ++s) {
    Operands to{output(first + (rank + p - s) % p)};
    if (s + 2 < p) to.push_back(link(next, channel));
    lane.steps.push_back(copy(link(previous, channel), to, skew_each * (p + s)));
  }
  return lane;
}

inline Plan ring(std::uint32_t p, std::uint32_t channels = 1, std::uint32_t depth = 2, std::uint32_t skew_each = 0) {
  std::vector<Program> programs(p);
  for (std::uint32_t rank = 0; rank < p; ++rank)
    for (std::uint32_t c = 0; c < channels; ++c)
      programs[rank].lanes.push_back(ring_lane(p, rank, c * p, c, skew_each));
  return Plan(header(p, p * channels, depth), std::move(programs));
}

/// All-reduce where every rank reads its peers' inputs itself.
inline Plan read_peers(std::uint32_t p, std::uint32_t chunks = 1) {
  std::vector<Program> programs(p);
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    Lane lane;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      Operands sources;
      for (std::uint32_t q = 0; q < p; ++q) sources.push_back(input(c, q == rank ? self : q));
      lane.steps.push_back(combine(sources, {output(c)}, true));
    }
    lane.steps.push_back(signal());
    for (std::uint32_t q = 0; q < p; ++q)
      if (q != rank) lane.steps.push_back(wait(q, 0, 0));
    programs[rank].lanes.push_back(std::move(lane));
  }
  PlanHeader made = header(p, chunks);
  made.protocol = Protocol::direct;
  made.in_place = false;
  return Plan(made, std::move(programs));
}

/// All-reduce that holds in place: each rank reduces a chunk from all inputs, then writes it to all outputs.
inline Plan two_shot_puts(std::uint32_t p) {
  std::vector<Program> programs(p);
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    Operands sources, destinations;
    for (std::uint32_t q = 0; q < p; ++q) {
      sources.push_back(input(rank, q == rank ? self : q));
      destinations.push_back(output(rank, q == rank ? self : q));
    }
    Lane lane;
    lane.steps.push_back(combine(sources, destinations, true));
    lane.steps.push_back(signal());
    for (std::uint32_t q = 0; q < p; ++q)
      if (q != rank) lane.steps.push_back(wait(q, 0, 0));
    programs[rank].lanes.push_back(std::move(lane));
  }
  PlanHeader made = header(p, p);
  made.protocol = Protocol::direct;
  return Plan(made, std::move(programs));
}

/// All-reduce through scratch without any credit, at depth 1: right for one piece alone.
inline Plan one_shot_without_credits(std::uint32_t p) {
  std::vector<Program> programs(p);
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    Lane lane;
    lane.steps.push_back(copy(input(0), {scratch(0)}));
    lane.steps.push_back(signal());
    Operands sources;
    for (std::uint32_t q = 0; q < p; ++q) {
      if (q != rank) lane.steps.push_back(wait(q, 0, 0));
      sources.push_back(scratch(0, q == rank ? self : q));
    }
    lane.steps.push_back(combine(sources, {output(0)}, true));
    programs[rank].lanes.push_back(std::move(lane));
  }
  PlanHeader made = header(p, 1, 1);
  made.scratch_chunks = 1;
  return Plan(made, std::move(programs));
}

inline std::vector<Program> table(const Plan& plan) {
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) programs.push_back(plan.program(rank));
  return programs;
}

/// A program as text, one line a step; lanes begin with a line of their own.
inline std::string print(const Program& program) {
  std::string text;
  for (std::size_t l = 0; l < program.lanes.size(); ++l) {
    text += "lane " + std::to_string(l) + "\n";
    for (const Step& step : program.lanes[l].steps) text += describe(step) + "\n";
  }
  return text;
}

/// What check_form says; nothing when it finds nothing.
inline std::string form_problem(const Plan& plan) {
  const auto checked = check_form(plan);
  return checked ? "" : checked.error().detail;
}

}  // namespace rondo::test
