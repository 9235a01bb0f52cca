// One call on random data, judged by a reference of higher precision.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "benchmarks/bench/data.hpp"
#include "rondo/communicator.hpp"

/// The collectives that a Trial can be of.
inline constexpr rondo::Collective moving_collectives[] = {
    rondo::Collective::all_reduce, rondo::Collective::reduce,  rondo::Collective::broadcast,
    rondo::Collective::all_gather, rondo::Collective::gather,  rondo::Collective::reduce_scatter,
    rondo::Collective::all_to_all, rondo::Collective::scatter, rondo::Collective::scan};

struct Trial {
  Shape shape;  ///< ranks and rank are the communicator's
  bool in_place;
  std::uint64_t seed;
  bool symmetric = false;  ///< buffers that peers map
  bool apart = false;      ///< blocks lie apart: on all ranks where the seed is even, else on every second one
};

/// Runs it on fresh exactly-sized buffers; "" when all is well, else what is wrong with it. premul_sum takes another factor on
/// every second rank, none of them one.
std::string perform(rondo::Communicator& communicator, Trial trial);

/// Every collective with every type and operation it is defined on, in and out of place, with none, one, a few and thousands of elements.
std::string perform_all(rondo::Communicator& communicator, bool symmetric);

/// Every moving collective of so many f32 each, in and out of place.
std::string perform_moving(rondo::Communicator& communicator, std::initializer_list<std::uint64_t> counts, bool symmetric);

/// The number of the last call that ran.
std::uint64_t calls_of(const rondo::Communicator& communicator);
