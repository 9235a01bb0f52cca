// The process's limit of file descriptors: what making a communicator needs of it, and the errors when it is too low.
#pragma once

#include <cstdint>
#include <string_view>

#include "rondo/result.hpp"

namespace rondo {

/// Descriptors that a process opens at most at one time while it makes `ranks_here` of a communicator's `ranks`: all or one.
/// Of the processes of a job rank 0's needs most, and its need is every rank's: they usually have one limit, and where it is
/// too low for rank 0 the others would wait in vain for it.
std::uint64_t descriptors_of_creation(std::uint32_t ranks, std::uint32_t ranks_here);

/// Whether this process can open what it needs to make `ranks_here` of `ranks` ranks. Error out_of_resources names the limit with
/// which it could, given what is open now. Opens nothing itself; takes some 0.1 µs a descriptor.
Result<void> check_descriptors(std::uint32_t ranks, std::uint32_t ranks_here);

/// What a system call that got EMFILE or ENFILE (`number`) for want of a descriptor comes to: after check_descriptors() this
/// takes somebody else who opened some meanwhile. `purpose` completes "no file descriptor left to ...".
Error no_descriptor_left(std::string_view purpose, int number, std::string_view where);

}  // namespace rondo
