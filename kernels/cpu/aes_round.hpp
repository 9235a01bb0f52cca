// One round of AES (FIPS 197: SubBytes, ShiftRows, MixColumns, AddRoundKey) for processors without an instruction for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rondo::kernels {

using AesBlock = std::array<std::uint8_t, 16>;  ///< column after column, as the instructions have it

/// A product with x in the field of 256 elements.
constexpr std::uint8_t twice(std::uint8_t a) { return static_cast<std::uint8_t>(a << 1 ^ (a >> 7) * 0x1b); }

constexpr std::array<std::uint8_t, 256> make_substitution() {
  std::array<std::uint8_t, 256> powers{}, logarithms{}, table{};  // of x + 1, which goes through all elements but 0
  std::uint8_t power = 1;
  for (std::size_t i = 0; i < 255; ++i, power = static_cast<std::uint8_t>(power ^ twice(power))) {
    powers[i] = power;
    logarithms[power] = static_cast<std::uint8_t>(i);
  }
  for (std::size_t a = 0; a < 256; ++a) {
    const unsigned inverse = a == 0 ? 0 : powers[(255u - logarithms[a]) % 255];
    unsigned sum = inverse;
    for (unsigned turn = 1; turn <= 4; ++turn) sum ^= inverse << turn | inverse >> (8 - turn);
    table[a] = static_cast<std::uint8_t>(sum ^ 0x63);
  }
  return table;
}

inline AesBlock aes_round(const AesBlock& state, const AesBlock& key) {
  static constexpr std::array<std::uint8_t, 256> substitution = make_substitution();
  AesBlock result;
  for (std::size_t column = 0; column < 4; ++column) {
    std::uint8_t a[4];
    for (std::size_t row = 0; row < 4; ++row) a[row] = substitution[state[(column + row) % 4 * 4 + row]];
    for (std::size_t row = 0; row < 4; ++row) {
      const std::uint8_t next = a[(row + 1) % 4];
      const std::uint8_t mixed = twice(a[row]) ^ twice(next) ^ next ^ a[(row + 2) % 4] ^ a[(row + 3) % 4];
      result[column * 4 + row] = mixed ^ key[column * 4 + row];
    }
  }
  return result;
}

}  // namespace rondo::kernels
