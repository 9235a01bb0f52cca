// Copies, past the caches where that pays, and the choice of the instruction set.
#include "base/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/copy.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cache_hints.hpp"
#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/table.hpp"
#include "rondo/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Moves four vectors, with `store(vector, tag, to)` for each.
template <typename Store>
void move_four(std::uint8_t* to, const std::uint8_t* from, Store store) {
  const hn::ScalableTag<std::uint8_t> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto v0 = hn::LoadU(tag, from);
  const auto v1 = hn::LoadU(tag, from + lanes);
  const auto v2 = hn::LoadU(tag, from + 2 * lanes);
  const auto v3 = hn::LoadU(tag, from + 3 * lanes);
  store(v0, tag, to);
  store(v1, tag, to + lanes);
  store(v2, tag, to + 2 * lanes);
  store(v3, tag, to + 3 * lanes);
}

/// At least one vector of bytes.
void copy_streamed(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<std::uint8_t>());
  const std::size_t lead = (lanes - reinterpret_cast<std::uintptr_t>(to) % lanes) % lanes;
  std::memcpy(to, from, lead);
  std::size_t index = lead;
  for (; index + 4 * lanes <= bytes; index += 4 * lanes)
    move_four(to + index, from + index, [](auto v, auto tag, std::uint8_t* at) HWY_ATTR { hn::Stream(v, tag, at); });
  std::memcpy(to + index, from + index, bytes - index);
  hwy::FlushStream();
}

/// At least four vectors of bytes.
void copy_by_vectors(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const std::size_t step = 4 * hn::Lanes(hn::ScalableTag<std::uint8_t>());
  const auto store = [](auto v, auto tag, std::uint8_t* at) HWY_ATTR { hn::StoreU(v, tag, at); };
  std::size_t index = 0;
  for (; index + step <= bytes; index += step) move_four(to + index, from + index, store);
  if (index < bytes) move_four(to + bytes - step, from + bytes - step, store);
}

HWY_INLINE void copy_line(std::uint8_t* to, const std::uint8_t* from) {
  const hn::CappedTag<std::uint8_t, cache_line> tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t at = 0; at < cache_line; at += lanes) hn::StoreU(hn::LoadU(tag, from + at), tag, to + at);
}

/// At least one line. Whole lines of the destination: a store for each keeps more of them under way than memcpy's order does. With
/// `pulled` the first so many bytes from `from` on are asked for ahead, too.
template <bool pulled>
HWY_INLINE void copy_lines(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes, [[maybe_unused]] std::size_t asked_bytes) {
  copy_line(to, from);
  std::size_t index = cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line;
  for (; index + cache_line + asked_ahead_bytes <= bytes; index += cache_line) {
    if constexpr (pulled) __builtin_prefetch(from + index + asked_ahead_bytes);
    claim_line(to + index + asked_ahead_bytes);
    copy_line(to + index, from + index);
  }
  for (; index + cache_line <= bytes; index += cache_line) {
    if (pulled && index + asked_ahead_bytes < asked_bytes) __builtin_prefetch(from + index + asked_ahead_bytes);
    copy_line(to + index, from + index);
  }
  if (index < bytes) copy_line(to + bytes - cache_line, from + bytes - cache_line);
}

void copy_by_lines(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  copy_lines<false>(to, from, bytes, 0);
}

void pull_by_lines(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes, std::size_t asked_bytes) {
  copy_lines<true>(to, from, bytes, asked_bytes);
}

inline constexpr std::size_t row_ahead_bytes = asked_ahead_bytes / 2;

/// At least four lines. Two rows of them side by side, the halves: a processor asks ahead by itself for each row, but no farther than the row's page, so that
/// two have more lines under way than one (0003, "Two rows").
void copy_in_rows(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  copy_line(to, from);
  const std::size_t begin = cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line;
  const std::size_t half = (bytes - begin) / 2 / cache_line * cache_line;
  const auto copy_both = [&](std::size_t index) HWY_ATTR {
    copy_line(to + index, from + index);
    copy_line(to + index + half, from + index + half);
  };
  std::size_t index = begin;
  for (; index + row_ahead_bytes < begin + half; index += cache_line) {
    claim_line(to + index + row_ahead_bytes);
    claim_line(to + index + half + row_ahead_bytes);
    copy_both(index);
  }
  for (; index < begin + half; index += cache_line) copy_both(index);
  if (begin + 2 * half + cache_line <= bytes) copy_line(to + begin + 2 * half, from + begin + 2 * half);
  copy_line(to + bytes - cache_line, from + bytes - cache_line);
}

const char* this_target() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace kernels {

HWY_EXPORT(copy_streamed);
HWY_EXPORT(copy_by_vectors);
HWY_EXPORT(copy_by_lines);
HWY_EXPORT(pull_by_lines);
HWY_EXPORT(copy_in_rows);
HWY_EXPORT(this_target);

const char* chosen_target() {
  return RONDO_DISPATCH(this_target)();
}

// In this namespace: where there is one instruction set alone, a qualified name can't be dispatched.
static void dispatch_streamed(void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(copy_streamed)(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}

static void dispatch_by_vectors(void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(copy_by_vectors)(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}

static void dispatch_by_lines(void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(copy_by_lines)(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}

static void dispatch_pull(void* to, const void* from, std::uint64_t bytes, std::uint64_t asked_bytes) {
  RONDO_DISPATCH(pull_by_lines)(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes, asked_bytes);
}

static void dispatch_in_rows(void* to, const void* from, std::uint64_t bytes) {
  RONDO_DISPATCH(copy_in_rows)(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}

/// Fewer bytes than this are copied plainly whatever the caller says: the fence costs more than it saves.
inline constexpr std::uint64_t least_streamed_copy_bytes = 4096;
// How lines are published: 0003-cost-model.md has the measurements.
inline constexpr std::uint64_t most_demoted_bytes = 1024;
inline constexpr std::uint64_t least_vectors_bytes = 4096;  ///< below, memcpy uses vectors itself

/// How far behind its source a destination lies, modulo 2^64, where memcpy would move strings and vectors may be faster; else 0.
static std::uint64_t apart(const void* destination, const void* source, std::uint64_t bytes) {
  static const bool vectors = cpu_stores().vectors_beat_shifted_copies;
  return vectors && bytes >= least_vectors_bytes ? reinterpret_cast<std::uintptr_t>(destination) - reinterpret_cast<std::uintptr_t>(source) : 0;
}

/// Whether they lie differently in their lines, and vectors move that faster.
static bool shifted(std::uint64_t distance) { return distance % cache_line != 0; }

/// Whether strings crawl there: to 1 to 31 bytes behind their source, but for whole pages (0003, "Strings that crawl").
static bool crawls(std::uint64_t distance) { return (distance - 1) % 4096 < 31; }

}  // namespace kernels

const char* cpu_kernel_target() {
  return kernels::chosen_target();
}

void cpu_copy(void* destination, const void* source, std::uint64_t bytes, bool streamed) {
  if (streamed && bytes >= kernels::least_streamed_copy_bytes) kernels::dispatch_streamed(destination, source, bytes);
  else if (kernels::shifted(kernels::apart(destination, source, bytes))) kernels::dispatch_by_vectors(destination, source, bytes);
  else if (bytes != 0) std::memcpy(destination, source, bytes);
}

void cpu_publish(void* destination, const void* source, std::uint64_t bytes, bool past_caches) {
  if (past_caches && bytes >= kernels::least_streamed_copy_bytes) return kernels::dispatch_streamed(destination, source, bytes);
  static const StoreTraits stores = cpu_stores();
  if (bytes >= stores.two_rows_from)
    kernels::dispatch_in_rows(destination, source, bytes);
  else if (bytes >= cache_line && bytes <= stores.lines_beat_copies_up_to)
    kernels::dispatch_by_lines(destination, source, bytes);
  else if (kernels::crawls(kernels::apart(destination, source, bytes)))
    kernels::dispatch_by_vectors(destination, source, bytes);
  else if (bytes != 0)
    std::memcpy(destination, source, bytes);
  if (bytes <= kernels::most_demoted_bytes) demote_lines(destination, bytes);
}

void cpu_pull(void* destination, const void* source, std::uint64_t bytes, bool more) {
  static const StoreTraits stores = cpu_stores();
  if (bytes >= stores.two_rows_from) {
    kernels::dispatch_in_rows(destination, source, bytes);
  } else if (bytes >= kernels::least_vectors_bytes) {
    if (stores.vectors_pull) kernels::dispatch_by_vectors(destination, source, bytes);
    else kernels::dispatch_pull(destination, source, bytes, more ? bytes + asked_ahead_bytes : bytes);
  } else if (bytes != 0) {
    std::memcpy(destination, source, bytes);
  }
}

}  // namespace rondo
#endif
