// Ranks that meet as they should, and connections to rank 0 that don't.
#pragma once

#include <chrono>
#include <string>

#include "base/fd.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/hello.hpp"
#include "support/children.hpp"

using Clock = std::chrono::steady_clock;

/// A connection to rank 0 at `name`, once it listens; empty when it hasn't within 5 s.
rondo::Fd knock(const rondo::SocketName& name);

/// What rank `rank` of `size` says first.
rondo::Hello right_hello(std::uint32_t rank, std::uint32_t size);
void say(const rondo::Fd& socket, const void* data, std::size_t bytes);

/// "" when the other end hangs up within `seconds` without a word.
std::string dropped_within(const rondo::Fd& socket, double seconds);

/// A bootstrap whose time is over after `seconds`.
rondo::Result<std::unique_ptr<rondo::Bootstrap>> connect_rank(std::uint32_t rank, std::uint32_t size, const std::string& job, double seconds = 20);

/// One round in which every rank gives its number; "" when it got everybody's.
std::string exchange(rondo::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t size, double seconds = 20);

/// Joins and exchanges: a rank that does as it should. The text of its error, else "".
std::string meet(std::uint32_t rank, std::uint32_t size, const std::string& job, double seconds = 20);

/// "" when `text` has all of `words` and no more than `bound_seconds` have passed since `begin`.
std::string expect_words(const std::string& text, const std::vector<std::string>& words, Clock::time_point begin, double bound_seconds);
