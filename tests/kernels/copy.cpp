#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

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

TEST_CASE("so does a copy between places of two pages that are close, or the same") {
  constexpr std::size_t page = 4096, most = 4 * page;
  std::vector<std::uint8_t> from(most + 2 * page), to(most + 2 * page);
  std::mt19937_64 random(7);
  for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random());
  std::uint8_t* const source = from.data() + page - reinterpret_cast<std::uintptr_t>(from.data()) % page + 64;
  std::uint8_t* const destination = to.data() + page - reinterpret_cast<std::uintptr_t>(to.data()) % page + 64;
  for (const std::ptrdiff_t apart : {-32, -31, -1, 0, 1, 16, 31, 32})
    for (const std::size_t bytes : {page - 1, page, page + 1, most - 64}) {
      INFO("bytes=" << bytes << " apart=" << apart);
      std::fill(to.begin(), to.end(), std::uint8_t{0});
      rondo::cpu_publish(destination + apart, source, bytes);
      CHECK(std::memcmp(destination + apart, source, bytes) == 0);
      const auto zeros = [](const auto first, const auto last) { return std::count(first, last, std::uint8_t{0}); };
      CHECK(zeros(to.begin(), to.end()) == zeros(source, source + bytes) + static_cast<std::ptrdiff_t>(to.size() - bytes));
    }
}
