#include "transports/tcp/tcp.hpp"

#include "conformance.hpp"
#include "support/catch.hpp"

using namespace rondo;

TEST_CASE("TCP does what a transport must") {
  conformance([](std::uint32_t rank, std::uint32_t ranks) { return make_tcp_transport(TcpOptions{rank, ranks}); }, 10);
}
