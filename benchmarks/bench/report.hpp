// What rondo-bench prints and writes.
#pragma once

#include <vector>

#include "measure.hpp"
#include "options.hpp"

void print_head(const Options& options, const rondo::Communicator& communicator);
void print_row(const Options& options, const Row& row);
void print_foot(const std::vector<Row>& rows);

/// A list of {collective, ranks, bytes, dtype, op, in_place, time_us, algbw_gbps, busbw_gbps, wrong, plan}; wrong is null where nothing was
/// checked. False: not written.
bool write_json(const Options& options, std::uint32_t ranks, const std::vector<Row>& rows);
