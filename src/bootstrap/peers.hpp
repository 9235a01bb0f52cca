// Connected ranks, and how rank 0 tells them that all is well or why nothing comes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

struct PeerSocket {
  Fd socket;
  std::string whom;  ///< "process 77" or an address; empty: a process in a PID name space that this one can't see
};

Error in_bootstrap(Errc code, const std::string& detail, int number = 0);

/// "process 77", of this one.
std::string this_process();

/// "rank 1 (process 77)"
std::string name_of(std::uint32_t rank, const std::string& whom);

/// What it means that talking to a rank ended with `cause`: a rank that dies is found by its socket.
Error lost(std::uint32_t rank, const std::string& whom, const Error& cause);

/// A rank of which it is known from elsewhere that it won't come.
Error has_gone(std::uint32_t rank);

/// A frame with a verdict: nothing in it means "go on".
Address pack_verdict(const Error& error);
Result<void> unpack_verdict(const Address& frame);

/// Tells all that are still there why nothing comes; takes 0.1 s at most. Returns `error`.
Error tell_all(const std::vector<PeerSocket>& peers, const Error& error);

}  // namespace rondo
