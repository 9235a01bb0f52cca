// Where a kernel reads and writes: sources combined at an index, destinations stored at an index. Included once for
// each instruction set.
#if defined(RONDO_KERNELS_CPU_ENDS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_ENDS_INL
#undef RONDO_KERNELS_CPU_ENDS_INL
#else
#define RONDO_KERNELS_CPU_ENDS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/cache_hints.hpp"
#include "kernels/cpu/operations-inl.hpp"
#include "kernels/cpu/rows.hpp"
#include "rondo/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::kernels::HWY_NAMESPACE {

/// U packs of elements, from an index on, a stride apart.
template <class Pack, std::size_t U>
struct Block {
  typename Pack::Value packs[U];
};

/// N sources, known at compile time.
template <class Element, class Operation, std::size_t N>
class FixedSources {
 public:
  explicit HWY_INLINE FixedSources(const KernelCall& call) {
    for (std::size_t s = 0; s < N; ++s) sources_[s] = static_cast<const Element*>(call.sources[s]);
  }

  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> combine(std::size_t index, std::size_t stride) const {
    Block<Pack, U> block;
    for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::load(sources_[0] + index + u * stride);
    for (std::size_t s = 1; s < N; ++s)
      for (std::size_t u = 0; u < U; ++u)
        block.packs[u] =
            Pack::template combine<Operation>(block.packs[u], Pack::load(sources_[s] + index + u * stride));
    return block;
  }

  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> combine_next(std::size_t index, std::size_t stride) const {
    return combine<Pack, U>(index, stride);
  }

 private:
  const Element* sources_[N];
};

template <class Operation, class Pack, std::size_t U>
HWY_INLINE Block<Pack, U> combined(const Block<Pack, U>& left, const Block<Pack, U>& right) {
  Block<Pack, U> result;
  for (std::size_t u = 0; u < U; ++u) result.packs[u] = Pack::template combine<Operation>(left.packs[u], right.packs[u]);
  return result;
}

/// The one tree along which sources are combined (docs/design/0009-strict.md): n of them are the first m and the others, m the largest
/// power of two below n. Subtrees of 1, 2, 4, ... leaves wait until their neighbour is complete, as digits of a counter do.
template <class Operation, class Pack, std::size_t U>
class Tree {
 public:
  /// The next leaf. All but the last have equally many sources.
  HWY_INLINE void add(Block<Pack, U> block) {
    std::uint32_t level = 0;
    for (; (leaves_ >> level & 1) != 0; ++level) block = combined<Operation>(subtrees_[level], block);
    subtrees_[level] = block;
    ++leaves_;
  }

  /// All leaves and, behind them, `rest`, which has fewer sources than a leaf.
  HWY_INLINE Block<Pack, U> with(Block<Pack, U> rest) const {
    for (std::uint32_t level = 0; leaves_ >> level != 0; ++level)
      if ((leaves_ >> level & 1) != 0) rest = combined<Operation>(subtrees_[level], rest);
    return rest;
  }

  /// All leaves, of which there are some.
  HWY_INLINE Block<Pack, U> all() const {
    std::uint32_t level = 0;
    while ((leaves_ >> level & 1) == 0) ++level;
    Block<Pack, U> result = subtrees_[level];
    for (++level; leaves_ >> level != 0; ++level)
      if ((leaves_ >> level & 1) != 0) result = combined<Operation>(subtrees_[level], result);
    return result;
  }

 private:
  static constexpr std::size_t most_levels = 17;  // plans have at most 65,535 operands on a side
  Block<Pack, U> subtrees_[most_levels];
  std::uint32_t leaves_ = 0;
};

/// Any number of sources.
template <class Element, class Operation>
class AnySources {
 public:
  explicit HWY_INLINE AnySources(const KernelCall& call) : sources_(call.sources), count_(call.source_count) {}

  /// For short calls and the ends of long ones: there is one of these for each length of pack, so it has to be short code.
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> combine(std::size_t index, std::size_t stride) const {
    if (count_ < 4) return few<Pack, U>(0, index, stride);
    Tree<Operation, Pack, U> tree;
    for (std::uint32_t s = 0; s < count_; ++s) tree.add(load<Pack, U>(s, index, stride));
    return tree.all();
  }

  /// For the loop of long calls.
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> combine_next(std::size_t index, std::size_t stride) const {
    return count_ < 8 ? some<Pack, U>(0, index, stride) : many<Pack, U>(index, stride);
  }

 private:
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> load(std::uint32_t s, std::size_t index, std::size_t stride) const {
    Block<Pack, U> block;
    const Element* from = static_cast<const Element*>(sources_[s]) + index;
    for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::load(from + u * stride);
    return block;
  }

  template <class Pack, std::size_t U>
  HWY_INLINE void add(Block<Pack, U>& block, std::uint32_t s, std::size_t index, std::size_t stride) const {
    const Element* from = static_cast<const Element*>(sources_[s]) + index;
    for (std::size_t u = 0; u < U; ++u)
      block.packs[u] = Pack::template combine<Operation>(block.packs[u], Pack::load(from + u * stride));
  }

  /// One to three sources from `s` on: along the tree, as it happens, if one after another.
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> few(std::uint32_t s, std::size_t index, std::size_t stride) const {
    Block<Pack, U> block = load<Pack, U>(s, index, stride);
    if (s + 1 < count_) add(block, s + 1, index, stride);
    if (s + 2 < count_) add(block, s + 2, index, stride);
    return block;
  }

  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> four(std::uint32_t s, std::size_t index, std::size_t stride) const {
    Block<Pack, U> left = load<Pack, U>(s, index, stride);
    add(left, s + 1, index, stride);
    Block<Pack, U> right = load<Pack, U>(s + 2, index, stride);
    add(right, s + 3, index, stride);
    return combined<Operation>(left, right);
  }

  /// Eight sources at a time, each with a load instruction of its own: the processor's prefetcher follows a stream by the
  /// address of the load instruction, and one load that hops between long sources runs at half the speed.
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> eight(std::uint32_t s, std::size_t index, std::size_t stride) const {
    const Block<Pack, U> left = four<Pack, U>(s, index, stride);
    return combined<Operation>(left, four<Pack, U>(s + 4, index, stride));
  }

  /// One to seven sources from `s` on.
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> some(std::uint32_t s, std::size_t index, std::size_t stride) const {
    if (s + 4 > count_) return few<Pack, U>(s, index, stride);
    const Block<Pack, U> left = four<Pack, U>(s, index, stride);
    return s + 4 == count_ ? left : combined<Operation>(left, few<Pack, U>(s + 4, index, stride));
  }

  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> many(std::size_t index, std::size_t stride) const {
    if (count_ == 8) return eight<Pack, U>(0, index, stride);
    Tree<Operation, Pack, U> tree;
    std::uint32_t s = 0;
    for (; s + 8 <= count_; s += 8) tree.add(eight<Pack, U>(s, index, stride));
    return s == count_ ? tree.all() : tree.with(some<Pack, U>(s, index, stride));
  }

  const void* const* sources_;
  std::uint32_t count_;
};

/// Any number of sources, some of them scaled first, and the sum divided in the end.
template <class Element, class Factor>
class ScaledSources {
 public:
  explicit HWY_INLINE ScaledSources(const KernelCall& call)
      : sources_(call.sources), count_(call.source_count), scaled_(call.scaled_sources), divisor_(call.divisor) {
    if constexpr (std::is_floating_point_v<Factor>)
      factor_ = static_cast<Factor>(call.scale);
    else
      factor_ = static_cast<Factor>(call.integer_scale);
  }

  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> combine(std::size_t index, std::size_t stride) const {
    Tree<Sum, Pack, U> tree;
    for (std::uint32_t s = 0; s < count_; ++s) tree.add(load<Pack, U>(s, index, stride));
    Block<Pack, U> block = tree.all();
    if (divisor_ != 0)
      for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::divide(block.packs[u], divisor_);
    return block;
  }

  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> combine_next(std::size_t index, std::size_t stride) const {
    return combine<Pack, U>(index, stride);
  }

 private:
  template <class Pack, std::size_t U>
  HWY_INLINE Block<Pack, U> load(std::uint32_t s, std::size_t index, std::size_t stride) const {
    Block<Pack, U> block;
    const Element* from = static_cast<const Element*>(sources_[s]) + index;
    for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::load(from + u * stride);
    if (s < 64 && ((scaled_ >> s) & 1) != 0)
      for (std::size_t u = 0; u < U; ++u) block.packs[u] = Pack::scale(block.packs[u], factor_);
    return block;
  }

  const void* const* sources_;
  std::uint32_t count_;
  std::uint64_t scaled_;
  std::uint32_t divisor_;
  Factor factor_;
};

/// M destinations, known at compile time.
template <class Element, std::size_t M>
class FixedDestinations {
 public:
  explicit HWY_INLINE FixedDestinations(const KernelCall& call) {
    for (std::size_t d = 0; d < M; ++d) destinations_[d] = static_cast<Element*>(call.destinations[d]);
  }

  static constexpr std::size_t lead() { return 0; }
  static constexpr std::size_t rows() { return 1; }

  template <std::size_t U, class Pack>
  HWY_INLINE void store(const Block<Pack, U>& block, std::size_t index, std::size_t stride) const {
    for (std::size_t d = 0; d < M; ++d)
      for (std::size_t u = 0; u < U; ++u) Pack::store(block.packs[u], destinations_[d] + index + u * stride);
  }

  template <std::size_t U, class Pack>
  HWY_INLINE void stream(const Block<Pack, U>& block, std::size_t index, std::size_t stride) const {
    store<U>(block, index, stride);
  }

 private:
  Element* destinations_[M];
};

/// Any number of destinations.
template <class Element>
class AnyDestinations {
 public:
  explicit HWY_INLINE AnyDestinations(const KernelCall& call)
      : destinations_(call.destinations), count_(call.destination_count) {}

  template <std::size_t U, class Pack>
  HWY_INLINE void store(const Block<Pack, U>& block, std::size_t index, std::size_t stride) const {
    put<U>(block, 0, index, stride);
    if (count_ == 1) return;
    put<U>(block, 1, index, stride);
    for (std::uint32_t d = 2; d < count_; ++d) put<U>(block, d, index, stride);
  }

 protected:
  template <std::size_t U, class Pack>
  HWY_INLINE void put(const Block<Pack, U>& block, std::uint32_t d, std::size_t index, std::size_t stride) const {
    Element* const to = static_cast<Element*>(destinations_[d]) + index;
    for (std::size_t u = 0; u < U; ++u) Pack::store(block.packs[u], to + u * stride);
  }

  Element* destination(std::uint32_t d) const { return static_cast<Element*>(destinations_[d]); }
  std::uint32_t destinations() const { return count_; }

 private:
  void* const* destinations_;
  std::uint32_t count_;
};

/// Any number of destinations, some of them written past the caches, some claimed ahead; `stream` must fall on lead() + multiples
/// of `lanes`.
template <class Element, std::size_t lanes>
class HintedDestinations : private AnyDestinations<Element> {
 public:
  HWY_INLINE HintedDestinations(const KernelCall& call, bool streaming_pays) : AnyDestinations<Element>(call), claimed_(call.claimed), count_(call.count) {
    constexpr std::uintptr_t vector_bytes = lanes * sizeof(Element);
    for (std::uint32_t d = 0; streaming_pays && d < call.destination_count && d < 64; ++d) {
      if (((call.streamed >> d) & 1) == 0) continue;
      const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(call.destinations[d]) % vector_bytes;
      const std::size_t lead = (vector_bytes - past) % vector_bytes / sizeof(Element);
      if (streamed_ == 0) lead_ = lead;
      if (lead == lead_) streamed_ |= std::uint64_t{1} << d;  // one that lies otherwise is stored plainly
    }
  }
  HintedDestinations(const HintedDestinations&) = delete;
  HintedDestinations& operator=(const HintedDestinations&) = delete;
  HWY_INLINE ~HintedDestinations() {
    if (streamed_ != 0) hwy::FlushStream();
  }

  /// Elements before the first aligned store.
  std::size_t lead() const { return lead_; }

  /// How many rows of lines are gone through side by side (0003-cost-model.md, "Two rows").
  std::size_t rows() const { return claimed_ != 0 && streamed_ == 0 && count_ * sizeof(Element) >= two_rows_from() ? 2 : 1; }

  using AnyDestinations<Element>::store;

  template <std::size_t U, class Pack>
  HWY_INLINE void stream(const Block<Pack, U>& block, std::size_t index, std::size_t stride) const {
    if (HWY_LIKELY((streamed_ | claimed_) == 0)) return this->template store<U>(block, index, stride);
    const bool ahead = index + U * stride + asked_ahead_bytes / sizeof(Element) <= count_;
    for (std::uint32_t d = 0; d < this->destinations(); ++d) {
      const std::uint64_t bit = d < 64 ? std::uint64_t{1} << d : 0;
      Element* const to = this->destination(d) + index;
      if ((claimed_ & bit) != 0 && ahead)
        for (std::size_t at = 0; at < U * stride * sizeof(Element); at += cache_line)
          claim_line(reinterpret_cast<const std::uint8_t*>(to) + asked_ahead_bytes + at);
      if ((streamed_ & bit) == 0) this->template put<U>(block, d, index, stride);
      else
        for (std::size_t u = 0; u < U; ++u) Pack::stream(block.packs[u], to + u * stride);
    }
  }

 private:
  std::size_t lead_ = 0;
  std::uint64_t streamed_ = 0;
  std::uint64_t claimed_;
  std::uint64_t count_;
};

}  // namespace rondo::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
