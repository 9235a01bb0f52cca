#include <cstring>

#include "cases.hpp"
#include "support/catch.hpp"

TEST_CASE("a copy brings every byte and no more, streamed or not, wherever the buffers lie") {
  std::mt19937_64 random(6);
  for (const std::size_t bytes : {0, 1, 7, 63, 64, 65, 4095, 4096, 4097, 5000, 65536, 100001})
    for (const std::size_t offset : {0, 1, 31, 63})
      for (const bool streamed : {false, true}) {
        kernel_test::Guarded<std::uint8_t> from(bytes, 64 - offset), to(bytes, offset);
        for (std::size_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::uint8_t>(random());
        rondo::cpu_copy(to.data(), from.data(), bytes, streamed);
        INFO("bytes=" << bytes << " offset=" << offset << " streamed=" << streamed);
        CHECK((bytes == 0 || std::memcmp(to.data(), from.data(), bytes) == 0));
        CHECK(to.guards_untouched());
      }
}
