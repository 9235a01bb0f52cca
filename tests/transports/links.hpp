// The message transports that this build has, and communicators over them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "rondo/communicator.hpp"

/// The name of one of them. A test that asks for it first runs once with each.
std::string each_link();

/// Of communicators whose links are these.
inline rondo::CommunicatorOptions over(const std::string& links, std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  rondo::CommunicatorOptions options;
  options.transport = links;
  options.timeout = timeout;
  return options;
}

/// An all-reduce of as many floats.
inline rondo::Result<void> sum_of(rondo::Communicator& communicator, std::uint64_t count) {
  std::vector<float> values(count, 1);
  return communicator.all_reduce(values.data(), values.data(), count, rondo::DataType::f32);
}
