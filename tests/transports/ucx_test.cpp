#ifdef RONDO_HAS_UCX
#include "transports/ucx/ucx.hpp"

#include "conformance.hpp"
#include "support/catch.hpp"

using namespace rondo;

TEST_CASE("UCX does what a transport must") {
  conformance([](std::uint32_t rank, std::uint32_t ranks) { return make_ucx_transport(UcxOptions{rank, ranks}); }, 10);
}
#endif
