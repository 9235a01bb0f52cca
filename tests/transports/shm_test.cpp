#include "transports/shm/shm.hpp"

#include "conformance.hpp"
#include "support/catch.hpp"

using namespace rondo;

TEST_CASE("shared memory does what a transport must") {
  conformance(
      [](std::uint32_t rank, std::uint32_t ranks) -> Result<std::unique_ptr<Transport>> {
        return make_shm_transport(ShmOptions{rank, ranks, 1 << 20});
      },
      1);
}
