// One call on random data, judged by a reference of higher precision.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "benchmarks/bench/data.hpp"
#include "rondo/communicator.hpp"

/// The collectives that a Trial can be of.
inline constexpr rondo::Collective moving_collectives[] = {
    rondo::Collective::all_reduce, rondo::Collective::reduce,  rondo::Collective::broadcast,
    rondo::Collective::all_gather, rondo::Collective::gather,  rondo::Collective::reduce_scatter,
    rondo::Collective::all_to_all, rondo::Collective::scatter, rondo::Collective::scan};

using Collectives = std::span<const rondo::Collective>;

struct Trial {
  Shape shape;  ///< ranks and rank are the communicator's
  bool in_place;
  std::uint64_t seed;
  bool symmetric = false;  ///< buffers that peers map
  bool apart = false;      ///< blocks lie apart: on all ranks where the seed is even, else on every second one
};

/// Two buffers that peers map, for many trials one after another: new ones for each are most of what a trial takes.
struct Mapped {
  std::shared_ptr<void> first, second;
};

/// Runs it, on fresh exactly-sized buffers unless there are some already; "" when all is well, else what is wrong with it. premul_sum takes another factor on
/// every second rank, none of them one.
std::string perform(rondo::Communicator& communicator, Trial trial, const Mapped& mapped = {});

/// Each of these collectives with every type and operation it is defined on, in and out of place, with none, one, a few and thousands of elements.
std::string perform_all(rondo::Communicator& communicator, bool symmetric, Collectives collectives = moving_collectives);

/// So many f32 of each of these collectives, in and out of place.
std::string perform_moving(rondo::Communicator& communicator, std::initializer_list<std::uint64_t> counts, bool symmetric,
                           Collectives collectives = moving_collectives);

/// The number of the last call that ran.
std::uint64_t calls_of(const rondo::Communicator& communicator);
