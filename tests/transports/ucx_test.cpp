#ifdef RONDO_HAS_UCX
#include "transports/ucx/ucx.hpp"

#include <cstdlib>

#include "conformance.hpp"
#include "support/catch.hpp"

using namespace rondo;

TEST_CASE("UCX over TCP does what a transport must") {
  setenv("UCX_TLS", "tcp,self", 1);
  conformance([](std::uint32_t rank, std::uint32_t ranks) { return make_ucx_transport(UcxOptions{rank, ranks}); }, 10);
}
#endif
