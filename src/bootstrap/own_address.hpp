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

/// The numeric address of the first of these interfaces that has one. Error invalid_argument names those that have one.
Result<std::string> address_of_interface(const std::vector<std::string>& names);

/// The address by which this machine is to be reached: of RONDO_NET_INTERFACES, where that is set; else what `otherwise` gives. Errors: those of
/// address_of_interface().
Result<std::string> chosen_address(const std::function<std::string()>& otherwise);

/// Where nothing has been connected yet: the address on the way to `host`, where that leads out of this machine; else that of the default route; else of any
/// interface; else the loopback one.
std::string likely_address(const std::string& host);

}  // namespace rondo
