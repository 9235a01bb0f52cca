// Checksums: what they notice, that every instruction set gives the same, and that copies made on the way are whole.
#include "each_target.hpp"

#include "rondo/checksum.hpp"

#include <cstring>
#include <random>
#include <vector>

#include "cases.hpp"
#include "kernels/cpu/aes_round.hpp"
#include "support/catch.hpp"

namespace {

using rondo::Checksum;

std::vector<std::uint8_t> bytes_of(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

std::uint64_t checksum_of(const std::vector<std::uint8_t>& bytes, std::uint64_t place = 5, std::uint64_t number = 3) {
  Checksum checksum(bytes.size(), place, number);
  checksum.add(bytes.data(), bytes.size());
  return checksum.value();
}

}  // namespace

TEST_CASE("a round of AES is what FIPS 197 shows of its first one") {
  // Appendix B, round 1: start of round, round key, start of round 2
  const rondo::kernels::AesBlock state{0x19, 0x3d, 0xe3, 0xbe, 0xa0, 0xf4, 0xe2, 0x2b, 0x9a, 0xc6, 0x8d, 0x2a, 0xe9, 0xf8, 0x48, 0x08};
  const rondo::kernels::AesBlock key{0xa0, 0xfa, 0xfe, 0x17, 0x88, 0x54, 0x2c, 0xb1, 0x23, 0xa3, 0x39, 0x39, 0x2a, 0x6c, 0x76, 0x05};
  const rondo::kernels::AesBlock next{0xa4, 0x9c, 0x7f, 0xf2, 0x68, 0x9f, 0x35, 0x2b, 0x6b, 0x5b, 0xea, 0x43, 0x02, 0x6a, 0x50, 0x49};
  CHECK(rondo::kernels::aes_round(state, key) == next);
}

TEST_CASE("every instruction set gives the same checksums, and those of this version") {
  std::vector<std::vector<std::uint64_t>> seen;
  kernel_test::with_each_target([&] {
    seen.emplace_back();
    for (const std::size_t count : {0, 1, 15, 16, 17, 127, 128, 129, 4096, 10'001}) seen.back().push_back(checksum_of(bytes_of(count, count)));
  });
  for (const auto& each : seen) CHECK(each == seen.front());
}

TEST_CASE("a checksum notices every bit that flips, words that change places, and what the string was meant for") {
  const std::vector<std::uint8_t> bytes = bytes_of(601, 1);
  const std::uint64_t right = checksum_of(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::uint8_t> changed = bytes;
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ 1u << bit % 8);
    CHECK(checksum_of(changed) != right);
  }
  for (std::size_t bit = 0; bit < 64; ++bit)  // one line of a bus that is stuck: the same bit of words at equal distances
    for (const std::size_t distance : {8, 16, 64, 128, 256}) {
      std::vector<std::uint8_t> changed = bytes;
      for (std::size_t at = bit / 8; at < changed.size(); at += distance) changed[at] = static_cast<std::uint8_t>(changed[at] ^ 1u << bit % 8);
      CHECK(checksum_of(changed) != right);
    }
  for (const std::size_t word : {4, 8, 16, 64, 128})
    for (std::size_t at = 0; at + 2 * word <= bytes.size(); at += word) {
      std::vector<std::uint8_t> changed = bytes;
      std::swap_ranges(changed.begin() + static_cast<std::ptrdiff_t>(at), changed.begin() + static_cast<std::ptrdiff_t>(at + word),
                       changed.begin() + static_cast<std::ptrdiff_t>(at + word));
      CHECK(checksum_of(changed) != right);
    }
  CHECK(checksum_of(bytes, 6) != right);
  CHECK(checksum_of(bytes, 5, 4) != right);
  CHECK(checksum_of(bytes, 3, 5) != right);
  std::vector<std::uint8_t> longer = bytes_of(602, 1);
  longer[601] = 0;
  CHECK(checksum_of(longer) != right);
}

TEST_CASE("copies made with a checksum are whole, wherever the buffers lie, and the checksum is that of the string in one part") {
  kernel_test::with_each_target([] {
    for (const std::size_t bytes : {0, 1, 63, 128, 129, 640, 5000, 16'385})
      for (const std::size_t offset : {0, 1, 16, 31, 63})
        for (int way = 0; way < 3; ++way) {
          kernel_test::Guarded<std::uint8_t> from(bytes, 64 - offset), to(bytes, offset);
          const auto source = bytes_of(bytes, offset);
          if (bytes != 0) std::memcpy(from.data(), source.data(), bytes);
          Checksum checksum(bytes, 5, 3);
          const std::size_t first = bytes / 2 / Checksum::part_bytes * Checksum::part_bytes;
          for (const auto& [begin, end] : {std::pair{std::size_t{0}, first}, std::pair{first, bytes}}) {
            if (way == 0) checksum.publish(to.data() + begin, from.data() + begin, end - begin);
            else checksum.pull(to.data() + begin, from.data() + begin, end - begin, way == 2);
          }
          INFO("bytes=" << bytes << " offset=" << offset << " way=" << way);
          CHECK((bytes == 0 || std::memcmp(to.data(), source.data(), bytes) == 0));
          CHECK(to.guards_untouched());
          CHECK(checksum.value() == checksum_of(source));
        }
  });
}
