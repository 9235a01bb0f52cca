// Two ranks that are used through C, and what they say of the answers. No Catch macros: ranks are threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rondo/rondo.h"

using Rank = rondo_communicator*;
/// What one rank does; "" when all was well. Must not use Catch macros.
using Body = std::function<std::string(Rank, std::uint32_t)>;

/// Runs `body` for both ranks, each in its own thread.
std::string run_two(const Body& body, double timeout_seconds = 0);
std::string run_two(const Body& body, const rondo_options& options);

/// "" when the status is the expected one and, if it is a failure, the thread's last error begins with its name and has `word`.
std::string expect(rondo_status got, rondo_status wanted, const std::string& word = "");

/// The first of them that isn't empty.
std::string first_wrong(const std::vector<std::string>& answers);

std::string expect_values(const std::vector<float>& got, const std::vector<float>& wanted, const std::string& what);

/// "" when `word` is in `text`.
std::string expect_word(const std::string& text, const std::string& word);

/// A text that the library made, released.
std::string taken(char* text);
