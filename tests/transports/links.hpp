// The message transports that this build has.
#pragma once

#include <string>

/// The name of one of them. A test that asks for it first runs once with each.
std::string each_link();
