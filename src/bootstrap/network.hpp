// The meeting of a job whose ranks are on several machines: over TCP, by a key.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/port_range.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/door.hpp"
#include "bootstrap/job_key.hpp"

namespace rondo {

/// Where and under what name the ranks of a job meet; equal on all of them.
struct MeetingPlace {
  std::string host;         ///< rank 0's: a name or an address
  std::uint16_t port = 0;
  std::string job;          ///< any text that tells this job from others at this place
  JobKey key;
};

inline constexpr std::uint32_t usual_fan_out = 16;

/// Ranks that reach `place`, where rank 0 listens on that address alone. Others connect and both sides prove that they hold the key.
/// Whoever can't is dropped, and holds nobody up. No descriptors pass. Blocks until connected, rank 0 until all are.
/// Errors: invalid_argument (the place can't be had or isn't rank 0's; who listens there has another key or job), out_of_resources,
/// mismatch (of library versions or sizes), and those of all_gather.
/// `listener`: rank 0's, where it listens at the place already. `fan_out`: how many children a rank has at most in the tree by which rounds go.
Result<std::unique_ptr<Bootstrap>> make_network_bootstrap(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, std::int64_t deadline_ns,
                                                          const StaysAway& stays_away = {}, Fd listener = {}, std::uint32_t fan_out = usual_fan_out);

// The parts of it.

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Where a place is; null where its name has no address (yet), with getaddrinfo's error in `error`.
Addresses resolve(const MeetingPlace& place, int& error);

/// "10.0.0.2"; empty where it isn't an address of a network.
std::string host_of(const sockaddr* address, socklen_t length);

/// "10.0.0.2:29500"
std::string text_of(const sockaddr* address, socklen_t length);

/// Small messages leave at once, and a peer that has vanished is an error within 3 s.
void tune(int socket);

/// Whether that socket, which doesn't block, is connected by `deadline_ns`; errno says why not.
bool connect_by(int socket, const addrinfo& to, std::int64_t deadline_ns);

/// Rank 0's door. Waits for the port up to 3 s, as an earlier meeting there may be about to end. `listener`, where it has one, listens there already.
Result<std::unique_ptr<Door>> open_network_door(const MeetingPlace& place, std::int64_t deadline_ns, Fd listener);

/// A listener at `address`, or none and the call's error in errno. Nobody is taken in yet; callers wait.
Fd listen_at(const sockaddr* address, socklen_t length, const PortRange& ports = {});

/// A socket to rank `goal`, which awaits this one at `place` and takes it in.
Result<PeerSocket> come_to_network(std::uint32_t rank, std::uint32_t size, std::uint32_t goal, const MeetingPlace& place, std::int64_t deadline_ns,
                                   const Result<void>& own_trouble, const StaysAway& stays_away);

}  // namespace rondo
