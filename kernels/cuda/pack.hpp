// Elements as they are held in registers: words that hold whole elements, and packs of words that one instruction loads or stores.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/element.hpp"

namespace rondo::cuda {

/// Registers that hold whole elements: four, two or one of them in 32 bits, one in 64.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
inline constexpr unsigned elements_in_word = sizeof(Word<T>) / sizeof(T);

/// Element e of a word.
template <class T>
RONDO_HD inline T element_of(Word<T> word, unsigned e) {
  if constexpr (std::is_floating_point_v<T>) return machine::float_of(word);
  else if constexpr (sizeof(T) >= 4) return static_cast<T>(word);
  else if constexpr (is_short_float<T> && sizeof(T) == 2) return {static_cast<std::uint16_t>(word >> (16 * e))};
  else if constexpr (is_short_float<T>) return {static_cast<std::uint8_t>(word >> (8 * e))};
  else return static_cast<T>(word >> (8 * sizeof(T) * e));
}

/// A word with the element in place e and zeros elsewhere.
template <class T>
RONDO_HD inline Word<T> in_place(T element, unsigned e) {
  if constexpr (std::is_floating_point_v<T>) return machine::bits_of(element);
  else if constexpr (sizeof(T) >= 4) return static_cast<Word<T>>(element);
  else if constexpr (is_short_float<T>) return static_cast<std::uint32_t>(element.bits) << (8 * sizeof(T) * e);
  else return static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<T>>(element)) << (8 * sizeof(T) * e);
}

/// `bytes` of elements, a word or more of them, at an address that is a multiple of it.
template <class T, unsigned bytes = 16>
struct Pack {
  static constexpr unsigned words_in_pack = bytes / sizeof(Word<T>);
  using Element = T;
  Word<T> words[words_in_pack];

  /// Of a pack of one word, memory may have a shorter `length`: half of it or a quarter, as far as that is whole elements.
  static RONDO_HD inline Pack load(const void* at, unsigned length = bytes) {
    Pack pack;
    std::uint32_t half_words[4] = {};
    if constexpr (bytes == 16) machine::load_four(at, half_words);
    else if constexpr (bytes == 8) machine::load_two(at, half_words);
    else if (sizeof(T) == 4 || length == 4) half_words[0] = machine::load_word(at);
    else if (sizeof(T) == 2 || length == 2) half_words[0] = machine::load_short(at);
    else half_words[0] = machine::load_byte(at);
    RONDO_UNROLL
    for (unsigned w = 0; w < words_in_pack; ++w) {
      if constexpr (sizeof(T) == 8) pack.words[w] = half_words[2 * w] | static_cast<std::uint64_t>(half_words[2 * w + 1]) << 32;
      else pack.words[w] = half_words[w];
    }
    return pack;
  }

  RONDO_HD inline void put(void* at, unsigned length = bytes) const {
    std::uint32_t half_words[4] = {};
    RONDO_UNROLL
    for (unsigned w = 0; w < words_in_pack; ++w) {
      if constexpr (sizeof(T) == 8) {
        half_words[2 * w] = static_cast<std::uint32_t>(words[w]);
        half_words[2 * w + 1] = static_cast<std::uint32_t>(words[w] >> 32);
      } else {
        half_words[w] = words[w];
      }
    }
    if constexpr (bytes == 16) machine::store_four(at, half_words);
    else if constexpr (bytes == 8) machine::store_two(at, half_words);
    else if (sizeof(T) == 4 || length == 4) machine::store_word(at, half_words[0]);
    else if (sizeof(T) == 2 || length == 2) machine::store_short(at, half_words[0]);
    else machine::store_byte(at, half_words[0]);
  }
};

}  // namespace rondo::cuda
