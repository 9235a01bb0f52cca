#include "floor/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "floor/loops.hpp"

namespace floor_bench {
namespace {

// Large enough to amortise a call, small enough that partial sums of many ranks stay in the first-level cache.
constexpr std::size_t fold_elements = 2048;

float* floats(std::byte* bytes) {
  return reinterpret_cast<float*>(bytes);
}

void sum_into(float* out, const float* a, const float* b, std::size_t count, bool streaming) {
  streaming ? add_streaming(out, a, b, count) : add(out, a, b, count);
}

}  // namespace

// 8 bytes: a line is rewritten two calls later; by then its reader has answered the call between (its own line says
// so).
void Exchange::tiny(const float* in, float* out, std::size_t count) {
  const std::uint64_t call = ++tiny_calls_;
  Line& mine = region_.rank[rank_].lines[call & 1];
  std::uint64_t bits = 0;
  std::memcpy(&bits, in, count * sizeof(float));
  mine.payload.store(bits, std::memory_order_relaxed);
  mine.sequence.store(call, std::memory_order_release);  // pairs with wait_for: publishes the payload
  float total[2] = {0, 0};
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    std::uint64_t theirs = bits;
    if (r != rank_) {
      const Line& line = region_.rank[r].lines[call & 1];
      wait_for(line.sequence, call, crowded_);
      theirs = line.payload.load(std::memory_order_relaxed);
    }
    float value[2];
    std::memcpy(value, &theirs, sizeof value);
    total[0] += value[0];
    total[1] += value[1];
  }
  std::memcpy(out, total, count * sizeof(float));
}

void Exchange::barrier() {
  publish(region_.rank[rank_].barrier, ++barriers_);
  for (std::uint32_t r = 0; r < ranks_; ++r) wait_for(region_.rank[r].barrier.value, barriers_, crowded_);
}

const float* Exchange::staged(std::uint32_t rank, std::uint64_t slot) const {
  return floats(region_.rank[rank].staged[slot % slots]);
}

// Slot reuse needs no credit: a peer's flag for piece i says that it has finished piece i − 2, and slots hold four.
void Exchange::one_shot(const float* in, float* out, std::size_t count, const Shape& shape) {
  const std::size_t piece = shape.piece_bytes / sizeof(float);
  const std::size_t pieces = (count + piece - 1) / piece;
  const std::size_t skew = shape.skewed ? 1 : 0;
  const std::uint64_t base = one_shot_pieces_;
  for (std::size_t i = 0; i < pieces + skew; ++i) {
    if (i < pieces) {
      const std::size_t length = std::min(piece, count - i * piece);
      std::memcpy(region_.rank[rank_].staged[(base + i) % slots], in + i * piece, length * sizeof(float));
      publish(region_.rank[rank_].one_shot, base + i + 1);
    }
    if (i < skew) continue;
    const std::size_t k = i - skew;
    for (std::uint32_t r = 0; r < ranks_; ++r) wait_for(region_.rank[r].one_shot.value, base + k + 1, crowded_);
    const std::size_t begin = k * piece;
    const std::size_t end = std::min(count, begin + piece);
    const auto part = [&](std::uint32_t r, std::size_t at) {
      return r == rank_ ? in + at : staged(r, base + k) + (at - begin);
    };
    if (ranks_ == 2) {
      sum_into(out + begin, part(0, begin), part(1, begin), end - begin, shape.streaming);
      continue;
    }
    for (std::size_t at = begin; at < end; at += fold_elements) {
      const std::size_t n = std::min(fold_elements, end - at);
      float total[fold_elements];
      add(total, part(0, at), part(1, at), n);
      for (std::uint32_t r = 2; r + 1 < ranks_; ++r) add(total, total, part(r, at), n);
      sum_into(out + at, total, part(ranks_ - 1, at), n, shape.streaming);
    }
  }
  one_shot_pieces_ += pieces;
}

// A round is a piece cut into one shard per rank.
struct Exchange::Round {
  std::uint64_t number;  // absolute; flags hold number + 1
  std::size_t begin;     // first element
  std::size_t length;
  std::size_t shard;  // elements of a full shard
  std::size_t from(std::uint32_t rank) const { return std::min(length, rank * shard); }
  std::size_t size(std::uint32_t rank) const { return from(rank + 1) - from(rank); }
};

Exchange::Round Exchange::round_at(std::size_t index, std::size_t count, std::size_t per_round,
                                   std::uint64_t base) const {
  const std::size_t begin = index * per_round;
  const std::size_t length = std::min(per_round, count - begin);
  const std::size_t line = 16;  // shards begin at cache lines
  const std::size_t shard = ((length + ranks_ - 1) / ranks_ + line - 1) / line * line;
  return {base + index, begin, length, shard};
}

void Exchange::stage_shards(const Round& round, const float* in) {
  float* slot = floats(region_.rank[rank_].staged[round.number % slots]);
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    std::memcpy(slot + round.from(r), in + round.begin + round.from(r), round.size(r) * sizeof(float));
  }
  publish(region_.rank[rank_].two_shot, round.number + 1);
}

void Exchange::reduce_shard(const Round& round, const float* in, float* out, const Shape& shape) {
  for (std::uint32_t r = 0; r < ranks_; ++r) wait_for(region_.rank[r].two_shot.value, round.number + 1, crowded_);
  const std::size_t from = round.from(rank_);
  const std::size_t size = round.size(rank_);
  float* reduced = floats(region_.rank[rank_].reduced[round.number % slots]);
  float* user = out + round.begin + from;
  const auto part = [&](std::uint32_t r) {
    return r == rank_ ? in + round.begin + from : staged(r, round.number) + from;
  };
  const auto finish = [&](std::size_t at, const float* a, const float* b, std::size_t n) {
    shape.streaming ? add_twice_streaming(user + at, reduced + at, a, b, n)
                    : add_twice(user + at, reduced + at, a, b, n);
  };
  if (ranks_ == 2) {
    finish(0, part(0), part(1), size);
  } else {
    for (std::size_t at = 0; at < size; at += fold_elements) {
      const std::size_t n = std::min(fold_elements, size - at);
      float total[fold_elements];
      add(total, part(0) + at, part(1) + at, n);
      for (std::uint32_t r = 2; r + 1 < ranks_; ++r) add(total, total, part(r) + at, n);
      finish(at, total, part(ranks_ - 1) + at, n);
    }
  }
  publish(region_.rank[rank_].two_shot_done, round.number + 1);
}

void Exchange::gather_shards(const Round& round, float* out, const Shape& shape) {
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    wait_for(region_.rank[r].two_shot_done.value, round.number + 1, crowded_);
    const float* from = floats(region_.rank[r].reduced[round.number % slots]);
    float* to = out + round.begin + round.from(r);
    const std::size_t bytes = round.size(r) * sizeof(float);
    shape.streaming ? copy_streaming(to, from, bytes) : static_cast<void>(std::memcpy(to, from, bytes));
  }
}

// With a skew, round i is staged while round i − 1 is reduced and round i − 2 gathered. A slot comes round again after
// four rounds, and a peer that has staged round i has gathered round i − 3: no credits are needed.
void Exchange::two_shot(const float* in, float* out, std::size_t count, const Shape& shape) {
  const std::size_t per_round = shape.piece_bytes / sizeof(float);
  const std::size_t rounds = (count + per_round - 1) / per_round;
  const std::size_t skew = shape.skewed ? 1 : 0;
  const auto at = [&](std::size_t i) { return round_at(i, count, per_round, two_shot_rounds_); };
  for (std::size_t i = 0; i < rounds + 2 * skew; ++i) {
    if (i < rounds) stage_shards(at(i), in);
    if (i >= skew && i - skew < rounds) reduce_shard(at(i - skew), in, out, shape);
    if (i >= 2 * skew) gather_shards(at(i - 2 * skew), out, shape);
  }
  two_shot_rounds_ += rounds;
}

}  // namespace floor_bench
