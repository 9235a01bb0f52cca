#include <cstring>

#include "cases.hpp"
#include "support/catch.hpp"

namespace {

template <class Copy>
void check_copy(const Copy& copy) {
  std::mt19937_64 random(6);
  for (const std::size_t bytes : {0, 1, 7, 63, 64, 65, 127, 600, 1024, 1025, 4095, 4096, 4097, 5000, 16384, 16385, 65536, 100001})
    for (const std::size_t offset : {0, 1, 31, 63}) {
      kernel_test::Guarded<std::uint8_t> from(bytes, 64 - offset), to(bytes, offset);
      for (std::size_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::uint8_t>(random());
      copy(to.data(), from.data(), bytes);
      INFO("bytes=" << bytes << " offset=" << offset);
      CHECK((bytes == 0 || std::memcmp(to.data(), from.data(), bytes) == 0));
      CHECK(to.guards_untouched());
    }
}

}  // namespace

TEST_CASE("a copy brings every byte and no more, streamed or not, wherever the buffers lie") {
  for (const bool streamed : {false, true})
    check_copy([&](void* to, const void* from, std::size_t bytes) { rondo::cpu_copy(to, from, bytes, streamed); });
}

TEST_CASE("so does a copy for another core, and one of what another core has written") {
  for (const bool past_caches : {false, true})
    check_copy([&](void* to, const void* from, std::size_t bytes) { rondo::cpu_publish(to, from, bytes, past_caches); });
  for (const bool more : {false, true})
    check_copy([&](void* to, const void* from, std::size_t bytes) { rondo::cpu_pull(to, from, bytes, more); });
}
