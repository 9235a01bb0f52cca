// Checksums, by themselves and while bytes are copied: one round of AES for each 32 bytes, in eight columns that don't wait for one another.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/checksum.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cache_hints.hpp"
#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/columns-inl.hpp"
#include "rondo/checksum.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
template <Moved moved>
HWY_INLINE void run(std::uint8_t* state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t part = Checksum::part_bytes;
  Columns all(state);
  std::size_t index = 0;
  for (; index + part <= bytes; index += part) {
    if constexpr (moved != Moved::published)
      for (std::size_t line = 0; line < part; line += cache_line) __builtin_prefetch(from + index + asked_ahead_bytes + line);
    if constexpr (moved == Moved::published || moved == Moved::pulled)
      if (index + asked_ahead_bytes + part <= bytes)
        for (std::size_t line = 0; line < part; line += cache_line) claim_line(to + index + asked_ahead_bytes + line);
    all.take<moved>(to + index, from + index);
  }
  if (index < bytes) {
    if constexpr (moved != Moved::not_at_all) std::memcpy(to + index, from + index, bytes - index);
    all.take_rest(from + index, bytes - index);
  }
  all.keep();
}

void checksum_add(std::uint8_t* state, const std::uint8_t* from, std::size_t bytes) { run<Moved::not_at_all>(state, nullptr, from, bytes); }
void checksum_publish(std::uint8_t* state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) { run<Moved::published>(state, to, from, bytes); }
void checksum_pull(std::uint8_t* state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) { run<Moved::pulled>(state, to, from, bytes); }
void checksum_stream(std::uint8_t* state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  run<Moved::streamed>(state, to, from, bytes);
  hwy::FlushStream();
}

/// Three rounds behind each column, so that every bit of it has reached every bit of the whole, and the next column.
std::uint64_t checksum_value(const std::uint8_t* state) {
  constexpr std::uint8_t nothing[column_bytes] = {};
  Column whole = load(state);
  for (std::size_t c = 1; c <= columns; ++c) {
    const Column next = load(state + c % columns * column_bytes), zero = load(nothing);
    whole = turned(turned(turned(whole, next, zero), zero, zero), zero, zero);
  }
  std::uint64_t halves[2];
  store(whole, reinterpret_cast<std::uint8_t*>(halves));
  return halves[0] ^ halves[1];
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace kernels {

HWY_EXPORT(checksum_add);
HWY_EXPORT(checksum_publish);
HWY_EXPORT(checksum_pull);
HWY_EXPORT(checksum_stream);
HWY_EXPORT(checksum_value);

// In this namespace: where there is one instruction set alone, a qualified name can't be dispatched.
static void dispatch_add(std::uint8_t* state, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(checksum_add)(state, static_cast<const std::uint8_t*>(from), bytes);
}
static void dispatch_publish(std::uint8_t* state, void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(checksum_publish)(state, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}
static void dispatch_pull(std::uint8_t* state, void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(checksum_pull)(state, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}
static void dispatch_stream(std::uint8_t* state, void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(checksum_stream)(state, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}
static std::uint64_t dispatch_value(const std::uint8_t* state) { return RONDO_DISPATCH(checksum_value)(state); }

}  // namespace kernels

Checksum::Checksum(std::uint64_t bytes, std::uint64_t place, std::uint64_t number) {
  // Columns that begin alike would hide that two of them changed places.
  std::uint64_t word = 0x9e3779b97f4a7c15u ^ bytes;
  for (std::uint64_t& column : columns_) column = word += 0x9e3779b97f4a7c15u;
  columns_[0] ^= place;
  columns_[1] ^= number;
}

void Checksum::add(const void* part, std::uint64_t bytes) { kernels::dispatch_add(reinterpret_cast<std::uint8_t*>(columns_), part, bytes); }
void Checksum::publish(void* destination, const void* part, std::uint64_t bytes) {
  kernels::dispatch_publish(reinterpret_cast<std::uint8_t*>(columns_), destination, part, bytes);
}
void Checksum::pull(void* destination, const void* part, std::uint64_t bytes, bool streamed) {
  auto* const state = reinterpret_cast<std::uint8_t*>(columns_);
  if (streamed && reinterpret_cast<std::uintptr_t>(destination) % 16 == 0) kernels::dispatch_stream(state, destination, part, bytes);
  else kernels::dispatch_pull(state, destination, part, bytes);
}
std::uint64_t Checksum::value() const { return kernels::dispatch_value(reinterpret_cast<const std::uint8_t*>(columns_)); }

}  // namespace rondo
#endif
