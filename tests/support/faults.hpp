// What tests of failures share: errors expected, disagreements made.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "rondo/communicator.hpp"

double seconds_since(std::chrono::steady_clock::time_point begin);

/// "" when the result is an error of that kind whose text contains all of `words`.
std::string expect_error(const rondo::Result<void>& result, rondo::Errc code, const std::vector<std::string>& words);

/// Two calls that don't go together, and what an error about them must say.
struct Disagreement {
  rondo::Call first, others;
  std::vector<std::string> words;
};

/// One for each argument, and between tiny and large calls.
std::vector<Disagreement> disagreements();

/// Rank 0 sends more than rank 1 receives, then all ranks meet; "" when this one gets a mismatch that says both within `bound_seconds`.
std::string pair_mismatch(rondo::Communicator& communicator, double bound_seconds);

/// Rank 0 makes the first call, all others the second; "" when this rank gets a mismatch that says both within `bound_seconds`,
/// in this call or its next ones.
std::string mismatch(rondo::Communicator& communicator, const Disagreement& calls, double bound_seconds);

/// What this process writes to its standard error while `body` runs.
std::string said_during(const std::function<void()>& body);

/// A call in which each rank sends `count` floats to the next one and receives as many from the one before.
rondo::Result<void> around_the_ring(rondo::Communicator& communicator, const float* input, float* output, std::uint64_t count);
