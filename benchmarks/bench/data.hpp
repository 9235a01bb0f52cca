// Random inputs that every rank can compute, and the check of results against a reference of higher precision.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/types.hpp"

/// What a measurement works on. `count` is elements per block.
struct Shape {
  rondo::Collective collective;
  rondo::DataType type;
  rondo::ReduceOp op;
  std::uint32_t ranks;
  std::uint32_t rank;
  std::uint32_t root;
  std::uint64_t count;
};

/// By how much `rank` multiplies its input: with premul_sum a factor that the type holds exactly, another one on every second rank; else 1.
double factor_of(const Shape& shape, std::uint32_t rank);

/// This rank's input, all blocks. Values depend on seed, rank and position alone.
void fill_input(const Shape& shape, std::uint64_t seed, void* input);

/// Number of output elements that differ from the reference by more than rounding can explain; 0 where this rank has none.
std::uint64_t count_wrong(const Shape& shape, std::uint64_t seed, const void* output);
