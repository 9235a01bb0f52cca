// Runs the same body as n ranks, as threads or as processes, and collects what each says.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/communicator.hpp"
#include "support/children.hpp"
#include "support/sanitized.hpp"

/// What one rank does; "" when all was well, else what was wrong. Must not use Catch macros (it may run in a child).
using RankBody = std::function<std::string(rondo::Communicator&)>;

/// The body on a thread for each rank of a communicator that is there already. Element r: what rank r said.
std::vector<std::string> run_each(std::vector<rondo::Communicator>& ranks, const RankBody& body);

/// Element r: what rank r said. A rank that crashed or outlasted `seconds` says so.
std::vector<std::string> run_threads(std::uint32_t ranks, const RankBody& body, const rondo::CommunicatorOptions& options = {});
std::vector<std::string> run_processes(std::uint32_t ranks, const RankBody& body, const rondo::CommunicatorOptions& options = {}, int seconds = 120);

/// The options that force this algorithm wherever it can serve.
rondo::CommunicatorOptions forced(std::string_view algorithm);

/// How many ranks results are tried with: 1, primes, powers of two, more than processors. What a call costs grows with the square of the most.
inline const std::vector<std::uint32_t> numbers_of_ranks =
    sanitized ? std::vector<std::uint32_t>{1, 2, 3} : std::vector<std::uint32_t>{1, 2, 3, 4, 7, 8};

/// The same where ranks are processes and threads have been tried.
inline const std::vector<std::uint32_t> few_numbers_of_ranks = sanitized ? std::vector<std::uint32_t>{2} : std::vector<std::uint32_t>{2, 3};

/// A job name nobody else uses.
std::string fresh_job();
