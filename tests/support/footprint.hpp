// What a process has that could grow: counted, to be held against a later count.
#pragma once

#include <cstdint>
#include <string>

struct Footprint {
  std::uint64_t descriptors = 0;
  std::uint64_t shared_maps = 0;
  std::uint64_t maps = 0;            ///< all of them
  std::uint64_t resident_bytes = 0;
};

/// Of this process.
Footprint footprint();

/// How many local sockets and files in /dev/shm of this machine have `word` in their names.
std::uint64_t names_with(const std::string& word);

/// "descriptors 5 → 5, ..."
std::string describe_change(const Footprint& before, const Footprint& after);

/// "" when nothing has grown: nothing at all of what a communicator has made; of what the allocator keeps for next time no more than a few maps and
/// `slack_bytes`. Sanitizers' allocators keep what was freed, to notice that it's used: under them only the former counts.
std::string growth(const Footprint& before, const Footprint& after, std::uint64_t slack_bytes = 4u << 20);
