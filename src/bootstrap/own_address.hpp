// By which address the ranks of other machines reach this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rondo/result.hpp"

namespace rondo {

/// The numeric address of this end of a connection.
std::string address_of_end(int socket);

/// This machine's numeric address on the way to another one's; empty where there is no way.
std::string address_towards(const std::string& host);

struct NamedAddress {
  std::string interface;  ///< empty: whichever has it
  std::string address;    ///< numeric
};

/// This machine's that are up and have one, version 4 first.
std::vector<NamedAddress> addressed_interfaces();

/// Those of RONDO_NET_INTERFACES that have an address here, in their order, where that is set; else one, that `otherwise` gives. Error invalid_argument
/// (none has one) names the interfaces that do.
Result<std::vector<NamedAddress>> chosen_interfaces(const std::function<std::string()>& otherwise);
/// The first one's address, by which this machine is to be reached.
Result<std::string> chosen_address(const std::function<std::string()>& otherwise);

/// Where nothing has been connected yet: the address on the way to `host`, where that leads out of this machine; else that of the default route; else of any
/// interface; else the loopback one.
std::string likely_address(const std::string& host);

}  // namespace rondo
