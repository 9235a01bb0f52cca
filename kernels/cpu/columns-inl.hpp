// A checksum's state in registers while a string goes through it. Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_COLUMNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_COLUMNS_INL
#undef RONDO_KERNELS_CPU_COLUMNS_INL
#else
#define RONDO_KERNELS_CPU_COLUMNS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/aes_round.hpp"
#include "rondo/checksum.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t column_bytes = 16;
constexpr std::size_t columns = Checksum::part_bytes / (2 * column_bytes);

#if HWY_TARGET == HWY_SCALAR
using Column = AesBlock;
HWY_INLINE Column load(const std::uint8_t* from) {
  Column column;
  std::memcpy(column.data(), from, column_bytes);
  return column;
}
HWY_INLINE void store(const Column& column, std::uint8_t* to) { std::memcpy(to, column.data(), column_bytes); }
HWY_INLINE void stream(const Column& column, std::uint8_t* to) { store(column, to); }
HWY_INLINE Column turned(Column column, const Column& first, const Column& second) {
  for (std::size_t i = 0; i < column_bytes; ++i) column[i] = static_cast<std::uint8_t>(column[i] ^ first[i]);
  return aes_round(column, second);
}
#else
using Tag = hn::Full128<std::uint8_t>;
using Column = hn::Vec<Tag>;
HWY_INLINE Column load(const std::uint8_t* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE void store(Column column, std::uint8_t* to) { hn::StoreU(column, Tag(), to); }
HWY_INLINE void stream(Column column, std::uint8_t* to) { hn::Stream(column, Tag(), to); }
HWY_INLINE Column turned(Column column, Column first, Column second) { return hn::AESRound(hn::Xor(column, first), second); }
#endif

/// What becomes of the bytes besides.
enum class Moved { not_at_all, published, pulled, streamed };

/// The eight columns, in registers while a string goes through them. Each takes 32 bytes of a part in one round: 16 before it, 16 behind it.
class Columns {
 public:
  explicit HWY_INLINE Columns(std::uint8_t* state)
      : state_(state), c0(at(0)), c1(at(1)), c2(at(2)), c3(at(3)), c4(at(4)), c5(at(5)), c6(at(6)), c7(at(7)) {}
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

  template <Moved moved>
  HWY_INLINE void take(std::uint8_t* to, const std::uint8_t* from) {
    take_one<moved>(c0, to, from, 0), take_one<moved>(c1, to, from, 1), take_one<moved>(c2, to, from, 2), take_one<moved>(c3, to, from, 3);
    take_one<moved>(c4, to, from, 4), take_one<moved>(c5, to, from, 5), take_one<moved>(c6, to, from, 6), take_one<moved>(c7, to, from, 7);
  }

  /// The end of a string, of less than a part.
  HWY_INLINE void take_rest(const std::uint8_t* from, std::size_t bytes) {
    alignas(16) std::uint8_t last[Checksum::part_bytes] = {};
    std::memcpy(last, from, bytes);
    take<Moved::not_at_all>(nullptr, last);
  }

  HWY_INLINE void keep() const { keep(c0, 0), keep(c1, 1), keep(c2, 2), keep(c3, 3), keep(c4, 4), keep(c5, 5), keep(c6, 6), keep(c7, 7); }

 private:
  template <Moved moved>
  static HWY_INLINE void take_one(Column& column, [[maybe_unused]] std::uint8_t* to, const std::uint8_t* from, std::size_t index) {
    const Column first = take_half<moved>(to, from, 2 * index), second = take_half<moved>(to, from, 2 * index + 1);
    column = turned(column, first, second);
  }
  template <Moved moved>
  static HWY_INLINE Column take_half([[maybe_unused]] std::uint8_t* to, const std::uint8_t* from, std::size_t index) {
    const Column bytes = load(from + index * column_bytes);
    if constexpr (moved == Moved::streamed) stream(bytes, to + index * column_bytes);
    else if constexpr (moved != Moved::not_at_all) store(bytes, to + index * column_bytes);
    return bytes;
  }
  HWY_INLINE Column at(std::size_t index) const { return load(state_ + index * column_bytes); }
  HWY_INLINE void keep(Column column, std::size_t index) const { store(column, state_ + index * column_bytes); }

  std::uint8_t* state_;
  Column c0, c1, c2, c3, c4, c5, c6, c7;
};

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
