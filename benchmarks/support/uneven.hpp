// Blocks of all_to_all_v: the farther ahead a rank is, the more it gets, and a rank sends itself nothing, as in nccl-tests' alltoallv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench_support {

/// Of one rank, by the other's number: elements, and where they begin.
template <class Number>
struct Uneven {
  std::vector<Number> sent, sent_at, received, received_at;
};

/// Elements that go to the rank so many ranks ahead, of `block` times as many as there are ranks.
inline std::size_t elements_ahead(std::size_t block, std::uint32_t ranks, std::uint32_t distance) {
  const std::size_t total = block * ranks, parts = std::size_t{ranks} * (ranks - 1) / 2;
  if (parts == 0) return total;  // a rank alone
  return total / parts * distance + (distance + 1 == ranks ? total % parts : 0);
}

template <class Number>
Uneven<Number> uneven_blocks(std::size_t block, std::uint32_t rank, std::uint32_t ranks) {
  Uneven<Number> made;
  Number sent = 0, received = 0;
  for (std::uint32_t other = 0; other < ranks; ++other) {
    made.sent.push_back(static_cast<Number>(elements_ahead(block, ranks, (other + ranks - rank) % ranks)));
    made.received.push_back(static_cast<Number>(elements_ahead(block, ranks, (rank + ranks - other) % ranks)));
    made.sent_at.push_back(sent);
    made.received_at.push_back(received);
    sent = static_cast<Number>(sent + made.sent.back());
    received = static_cast<Number>(received + made.received.back());
  }
  return made;
}

/// A rank's blocks, made anew when their length changes: what a program has at hand that calls again and again.
template <class Number>
class UnevenCache {
 public:
  const Uneven<Number>& of(std::size_t block, std::uint32_t rank, std::uint32_t ranks) {
    if (block != block_ || blocks_.sent.empty()) blocks_ = uneven_blocks<Number>(block, rank, ranks);
    block_ = block;
    return blocks_;
  }

 private:
  std::size_t block_ = 0;
  Uneven<Number> blocks_;
};

}  // namespace bench_support
