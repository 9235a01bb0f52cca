// Hosts that are network name spaces on one switch, each with an interface "eth" (and "eth1", ... on switches of their own): what crosses from one to
// another crosses a network.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/children.hpp"

/// Holders of name spaces; all is gone with them, also when the test is killed. Needs root or user name spaces, and iproute2.
class Hosts {
 public:
  explicit Hosts(std::uint32_t count, std::uint32_t interfaces = 1);
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  ~Hosts();

  /// Why there are none; "" when there are.
  const std::string& trouble() const { return trouble_; }
  /// Of a host's interface.
  static std::string address(std::uint32_t host, std::uint32_t interface = 0);
  /// The body as a process on that host.
  ChildBody on(std::uint32_t host, ChildBody body) const;
  /// A shell command there; true when it ended well.
  bool run(std::uint32_t host, const std::string& command) const;
  /// On the switch's side of its cable: the host itself sees nothing of it but silence.
  bool cut(std::uint32_t host) const;
  bool mend(std::uint32_t host) const;
  /// What `from` sends to `host` is lost on arrival, all of it or so many of a hundred packets; both others and the way back stay. nftables.
  bool drop(std::uint32_t host, std::uint32_t from, std::uint32_t of_a_hundred = 100) const;
  /// The command of that, for a process on the host itself: of all packets, or those that an expression of nftables says. Its table: "ip trial".
  static std::string losing(std::uint32_t from, const std::string& which = "");
  /// Of its interface, by the kernel's count.
  std::uint64_t bytes_sent(std::uint32_t host, std::uint32_t interface = 0) const;
  /// Rank `rank` of `size` ranks, `per_host` on each host, as a job's environment says it; rank 0 is on host 0.
  static void set_job(std::uint32_t rank, std::uint32_t size, std::uint32_t per_host, int port);

 private:
  pid_t holder(const ChildBody& enter);
  std::string make(std::uint32_t count, std::uint32_t interfaces);
  bool plug_in(std::uint32_t host, std::uint32_t interface) const;
  bool run_in(pid_t space, const std::string& command) const;

  bool own_users_ = false;  ///< in a user name space, as this user isn't root
  pid_t switch_ = -1;
  std::vector<pid_t> hosts_;
  std::vector<Child> children_;
  std::string trouble_;
};

/// Whether hosts can be made here; where not, says so as a skip that CI doesn't allow.
bool can_make_hosts();
