// Which ways between ranks a plan takes, and how wide they are.
#pragma once

#include <string>

#include "rondo/plan.hpp"
#include "rondo/topology.hpp"

/// Such as "ways between 8 pairs of ranks: 4 of 50 GB/s, 4 of 25 GB/s". Empty where ranks aren't GPUs, or too many to look at them all.
std::string ways_taken(const rondo::Plan& plan, const rondo::Topology& topology);
