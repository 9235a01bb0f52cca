#include "bootstrap/own_address.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/config.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "bootstrap/network.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

/// Nobody's (RFC 5737): what leads there is the default route.
constexpr char elsewhere[] = "192.0.2.1";

Error none_of(const std::vector<std::string>& names, const std::vector<NamedAddress>& all) {
  std::string wanted, have;
  for (const std::string& name : names) wanted += (wanted.empty() ? "" : ",") + name;
  for (const NamedAddress& one : all)
    if (have.find(one.interface) == std::string::npos) have += (have.empty() ? "" : ", ") + one.interface;
  return in_bootstrap(Errc::invalid_argument, "RONDO_NET_INTERFACES='" + wanted + "': none of them has an address here; accepted: some of " + have);
}

}  // namespace

std::vector<NamedAddress> addressed_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<NamedAddress> found;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family || (entry->ifa_flags & IFF_UP) == 0) continue;
      // An address that holds on its own link alone means nothing without its interface's name.
      if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr)) continue;
      found.push_back({entry->ifa_name, host_of(entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6))});
    }
  return found;
}

std::string address_of_end(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  return getsockname(socket, address, &length) == 0 ? host_of(address, length) : "";
}

std::string address_towards(const std::string& host) {
  int error = 0;
  const Addresses there = resolve({host, 1, {}, {}}, error);
  if (there == nullptr) return {};
  // Connecting it sends nothing: the kernel looks up the route.
  const Fd socket(::socket(there->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || connect(socket.get(), there->ai_addr, there->ai_addrlen) != 0) return {};
  return address_of_end(socket.get());
}

Result<std::vector<NamedAddress>> chosen_interfaces(const std::function<std::string()>& otherwise) {
  const auto& set = config();
  if (!set) return set.error();
  if (set->net_interfaces.empty()) return std::vector{NamedAddress{"", otherwise()}};
  const auto all = addressed_interfaces();
  std::vector<NamedAddress> chosen;
  for (const std::string& name : set->net_interfaces) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const NamedAddress& one) { return one.interface == name; });
    if (found != all.end()) chosen.push_back(*found);
  }
  return chosen.empty() ? none_of(set->net_interfaces, all) : Result<std::vector<NamedAddress>>(std::move(chosen));
}

Result<std::string> chosen_address(const std::function<std::string()>& otherwise) {
  auto interfaces = chosen_interfaces(otherwise);
  return interfaces ? Result<std::string>(std::move(interfaces->front().address)) : interfaces.error();
}

std::string likely_address(const std::string& host) {
  for (const std::string& target : {host, std::string(elsewhere)})
    if (std::string own = target.empty() ? "" : address_towards(target); !own.empty() && !is_loopback(own)) return own;
  for (const NamedAddress& one : addressed_interfaces())
    if (!is_loopback(one.address)) return one.address;
  return "127.0.0.1";
}

}  // namespace rondo
