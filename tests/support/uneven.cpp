#include "support/uneven.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

using namespace rondo;

namespace {

constexpr std::int32_t gap = -7;

std::uint64_t length(std::uint64_t seed, std::uint32_t from, std::uint32_t to, std::uint64_t most) {
  std::mt19937_64 random(seed * 1'000'003 + from * 1009 + to);
  random.discard(3);
  switch (random() % 5) {
    case 0: return 0;
    case 1: return most;
    default: return random() % (most + 1);
  }
}

std::int32_t element(std::uint64_t seed, std::uint32_t from, std::uint32_t to, std::uint64_t index) {
  return static_cast<std::int32_t>((seed * 31 + from * 7919 + to * 104'729 + index) & 0x3fffffff);
}

/// One side of a call: where the blocks lie, shuffled, with gaps.
struct BlockLayout {
  std::vector<std::uint64_t> counts, offsets;
  std::vector<std::int32_t> buffer;
};

BlockLayout lay_out(std::vector<std::uint64_t> counts, std::uint64_t seed) {
  BlockLayout side{std::move(counts), {}, {}};
  side.offsets.resize(side.counts.size());
  std::vector<std::size_t> order(side.counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  std::uint64_t next = random() % 3;
  for (const std::size_t block : order) {
    side.offsets[block] = next;
    next += side.counts[block] + random() % 4;
  }
  side.buffer.assign(next, gap);
  return side;
}

}  // namespace

std::string swap_uneven(Communicator& communicator, std::uint64_t seed, std::uint64_t most, Way way) {
  const std::uint32_t rank = communicator.rank();
  std::vector<std::uint64_t> sent, received;
  for (std::uint32_t peer = 0; peer < communicator.size(); ++peer) {
    sent.push_back(length(seed, rank, peer, most));
    received.push_back(length(seed, peer, rank, most));
  }
  BlockLayout out = lay_out(sent, seed + rank);
  BlockLayout in = lay_out(received, seed + rank + 99);
  std::vector<std::int32_t> expected = in.buffer;
  for (std::uint32_t peer = 0; peer < communicator.size(); ++peer) {
    for (std::uint64_t i = 0; i < sent[peer]; ++i) out.buffer[out.offsets[peer] + i] = element(seed, rank, peer, i);
    for (std::uint64_t i = 0; i < received[peer]; ++i) expected[in.offsets[peer] + i] = element(seed, peer, rank, i);
  }
  const Blocks from{out.counts, out.offsets}, to{in.counts, in.offsets};
  const auto call = [&]() -> Result<void> {
    if (way == Way::start) return communicator.start_all_to_all_v(out.buffer.data(), from, in.buffer.data(), to, DataType::i32).wait();
    if (way == Way::run) return communicator.all_to_all_v(out.buffer.data(), from, in.buffer.data(), to, DataType::i32);
    communicator.group_begin();
    (void)communicator.all_to_all_v(out.buffer.data(), from, in.buffer.data(), to, DataType::i32);
    return communicator.group_end();
  };
  const std::string name = "all_to_all_v of up to " + std::to_string(most) + ", seed " + std::to_string(seed);
  if (auto done = call(); !done) return name + ": " + to_string(done.error());
  return in.buffer == expected ? "" : name + ": wrong data";
}
