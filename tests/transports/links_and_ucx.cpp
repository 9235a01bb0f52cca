// In a build with UCX.
#include "links.hpp"
#include "support/catch.hpp"

std::string each_link() {
  const std::string name = GENERATE("tcp", "ucx");
  return name;
}
