// n sources combined along the tree and stored at m destinations: loops over packs, for one operation on one type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/lanes.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/pack.hpp"
#include "rondo/kernels.hpp"

namespace rondo::cuda {

/// A pack's elements in the type they are combined in.
template <class T, unsigned bytes>
struct WidePack {
  Wide<T> words[Pack<T, bytes>::words_in_pack];
};

/// Sources first to first + n - 1, n a power of two: word w of their packs along the tree. A word after the other, so that few are widened at a time.
template <unsigned first, unsigned n, class A, class P>
RONDO_HD inline Wide<typename A::Element> along_the_tree(const A& arithmetic, const P* packs, std::uint32_t source, unsigned w) {
  if constexpr (n == 1) {
    return arithmetic.widen(packs[first].words[w], source + first);
  } else {
    const auto left = along_the_tree<first, n / 2>(arithmetic, packs, source, w);
    return arithmetic.combine(left, along_the_tree<first + n / 2, n / 2>(arithmetic, packs, source, w));
  }
}

template <class P>
RONDO_HD inline void store_at_all(const KernelCall& call, std::uint64_t offset, const P& pack, unsigned length = sizeof(P)) {
  RONDO_ROLLED
  for (std::uint32_t d = 0; d < call.destination_count; ++d) pack.put(at(call.destinations[d], offset), length);
}

/// A power of two of sources that is known at compile time, `unroll` packs of each at a time: all are loaded before the first is used. Returns the number of
/// the first pack that it left.
template <unsigned n, unsigned unroll, class A>
RONDO_HD inline std::uint64_t combine_packs(const A& arithmetic, const KernelCall& call, const Split& split, std::uint64_t pack, unsigned stride) {
  using P = Pack<typename A::Element>;
  const std::uint64_t step = std::uint64_t{stride} * sizeof(P);
  RONDO_ROLLED
  for (; pack + std::uint64_t{unroll - 1} * stride < split.packs; pack += std::uint64_t{unroll} * stride) {
    const std::uint64_t offset = split.begin + pack * sizeof(P);
    P loaded[unroll][n];
    RONDO_UNROLL
    for (unsigned s = 0; s < n; ++s) {
      const void* from = at(call.sources[s], offset);
      RONDO_UNROLL
      for (unsigned u = 0; u < unroll; ++u, from = at(from, step)) loaded[u][s] = P::load(from);
    }
    RONDO_UNROLL
    for (unsigned u = 0; u < unroll; ++u) {
      P result;
      RONDO_UNROLL
      for (unsigned w = 0; w < P::words_in_pack; ++w) result.words[w] = arithmetic.narrow(along_the_tree<0, n>(arithmetic, loaded[u], 0, w));
      store_at_all(call, offset + u * step, result);
    }
  }
  return pack;
}

/// All packs.
template <unsigned n, unsigned unroll, class A>
RONDO_HD inline void combine_all_packs(const A& arithmetic, const KernelCall& call, const Split& split, Lanes lanes) {
  std::uint64_t left = lanes.index;
  if constexpr (unroll > 1) left = combine_packs<n, unroll>(arithmetic, call, split, left, lanes.count);
  combine_packs<n, 1>(arithmetic, call, split, left, lanes.count);
}

/// Subtrees of a power of two of leaves that wait for their neighbours, as digits of a counter do; all leaves have equally many sources.
template <class A, unsigned bytes>
class Tree {
 public:
  using Block = WidePack<typename A::Element, bytes>;
  static constexpr unsigned levels = 5;

  RONDO_HD static Block combined(const A& arithmetic, const Block& left, const Block& right) {
    Block result;
    RONDO_UNROLL
    for (unsigned w = 0; w < sizeof(result.words) / sizeof(result.words[0]); ++w) result.words[w] = arithmetic.combine(left.words[w], right.words[w]);
    return result;
  }

  RONDO_HD void add(const A& arithmetic, Block block) {
    RONDO_UNROLL
    for (unsigned level = 0; level < levels; ++level) {
      if ((leaves_ >> level & 1) == 0) {
        subtrees_[level] = block;
        break;
      }
      block = combined(arithmetic, subtrees_[level], block);
    }
    ++leaves_;
  }

  /// All leaves and, behind them, `rest`, where there is one: it has fewer sources than a leaf.
  RONDO_HD Block all(const A& arithmetic, Block rest, bool has_rest) const {
    RONDO_UNROLL
    for (unsigned level = 0; level < levels; ++level)
      if ((leaves_ >> level & 1) != 0) {
        rest = has_rest ? combined(arithmetic, subtrees_[level], rest) : subtrees_[level];
        has_rest = true;
      }
    return rest;
  }

 private:
  Block subtrees_[levels];
  unsigned leaves_ = 0;
};

/// Sources source to source + n - 1, a leaf of the tree.
template <unsigned n, unsigned bytes, class A>
RONDO_HD inline WidePack<typename A::Element, bytes> leaf(const A& arithmetic, const KernelCall& call, std::uint32_t source, std::uint64_t offset,
                                                          unsigned length) {
  using P = Pack<typename A::Element, bytes>;
  P loaded[n];
  RONDO_UNROLL
  for (unsigned s = 0; s < n; ++s) loaded[s] = P::load(at(call.sources[source + s], offset), length);
  WidePack<typename A::Element, bytes> result;
  RONDO_UNROLL
  for (unsigned w = 0; w < P::words_in_pack; ++w) result.words[w] = along_the_tree<0, n>(arithmetic, loaded, source, w);
  return result;
}

constexpr std::uint32_t sources_in_leaf = 4;
constexpr std::uint32_t most_sources = sources_in_leaf * 32 - 1;  ///< as many as five levels of leaves and a rest have room for

template <unsigned n>
using Sources = std::integral_constant<unsigned, n>;

/// Any number of sources along the tree: leaf(Sources<n>(), source) gives n of them, from `source` on, combined.
template <unsigned bytes, class A, class Leaf>
RONDO_HD inline typename Tree<A, bytes>::Block combine_leaves(const A& arithmetic, std::uint32_t sources, const Leaf& leaf) {
  using T = Tree<A, bytes>;
  T tree;
  std::uint32_t source = 0;
  RONDO_ROLLED
  for (; source + sources_in_leaf <= sources; source += sources_in_leaf) tree.add(arithmetic, leaf(Sources<sources_in_leaf>(), source));
  typename T::Block rest{};
  const std::uint32_t left = sources - source;
  if (left >= 2) rest = leaf(Sources<2>(), source);
  if ((left & 1) != 0) {
    const auto last = leaf(Sources<1>(), sources - 1);
    rest = left == 3 ? T::combined(arithmetic, rest, last) : last;
  }
  return tree.all(arithmetic, rest, left != 0);
}

/// Any number of sources, one pack.
template <unsigned bytes, class A>
RONDO_HD inline Pack<typename A::Element, bytes> combine_any(const A& arithmetic, const KernelCall& call, std::uint64_t offset, unsigned length) {
  const auto sum = combine_leaves<bytes>(arithmetic, call.source_count, [&](auto n, std::uint32_t source) {
    return leaf<decltype(n)::value, bytes>(arithmetic, call, source, offset, length);
  });
  Pack<typename A::Element, bytes> result;
  RONDO_UNROLL
  for (unsigned w = 0; w < result.words_in_pack; ++w) result.words[w] = arithmetic.narrow(sum.words[w]);
  return result;
}

template <unsigned bytes, class A>
RONDO_HD inline void combine_any_packs(const A& arithmetic, const KernelCall& call, const Split& split, Lanes lanes) {
  RONDO_ROLLED
  for (std::uint64_t pack = lanes.index; pack < split.packs; pack += lanes.count) {
    const std::uint64_t offset = split.begin + pack * bytes;
    store_at_all(call, offset, combine_any<bytes>(arithmetic, call, offset, bytes));
  }
}

/// Words, or shorter units of whole elements.
template <class A>
RONDO_HD inline void combine_units(const A& arithmetic, const KernelCall& call, const Units& units, Lanes lanes) {
  constexpr unsigned word = sizeof(Word<typename A::Element>);
  RONDO_ROLLED
  for (std::uint64_t i = lanes.index; i < units.count; i += lanes.count) {
    const std::uint64_t offset = units.place(i);
    store_at_all(call, offset, combine_any<word>(arithmetic, call, offset, units.bytes), units.bytes);
  }
}

/// Bytes of a pack of which several wait in registers, widened: 16 bytes of accumulators. None (0) for short integers that are taken out of their words: the
/// code for more than a word of them would be long.
template <class A>
inline constexpr unsigned any_pack = sizeof(Wide<typename A::Element>) > sizeof(Word<typename A::Element>) ? 8 : A::takes_words ? 16 : 0;

/// Packs of any number of sources, all equally far from a multiple of 16. What most calls ask for has loops of its own.
template <class A>
RONDO_HD inline Split combine_aligned(const A& arithmetic, const KernelCall& call, std::uint64_t bytes, unsigned before, Lanes lanes) {
  const std::uint32_t n = call.source_count;
  if constexpr (A::is_frequent) {
    if (n == 2 || n == 4 || n == 8) {
      const Split split(bytes, before, 16);
      if (n == 2) combine_all_packs<2, 4>(arithmetic, call, split, lanes);
      else if (n == 4) combine_all_packs<4, 2>(arithmetic, call, split, lanes);
      else combine_all_packs<8, 1>(arithmetic, call, split, lanes);
      return split;
    }
  }
  const Split split(bytes, before, any_pack<A>);
  combine_any_packs<any_pack<A>>(arithmetic, call, split, lanes);
  return split;
}

/// A whole call; its spans have that many bytes.
template <class A>
RONDO_HD RONDO_OUT_OF_LINE void combine_by(const KernelCall& call, std::uint64_t bytes, Lanes lanes) {
  constexpr unsigned element = sizeof(typename A::Element);
  if (call.source_count > most_sources) machine::give_up();
  Alignment alignment(call.destinations[0]);
  for (std::uint32_t d = 1; d < call.destination_count; ++d) alignment.also(call.destinations[d]);
  for (std::uint32_t s = 0; s < call.source_count; ++s) alignment.also(call.sources[s]);
  const A arithmetic(call);
  Split split(bytes);
  bool words = false;
  if (any_pack<A> != 0 && alignment.common(16)) {
    if constexpr (any_pack<A> != 0) split = combine_aligned(arithmetic, call, bytes, alignment.before_multiple(16), lanes);
  } else if (element < 4 && alignment.common(4)) {
    split = Split(bytes, alignment.before_multiple(4), 4);
    words = true;
  }
  // Words of several elements, then what lies outside of words or packs, by the same code.
  RONDO_ROLLED
  for (unsigned part = words ? 0 : 1; part < 2; ++part)
    combine_units(arithmetic, call, part == 0 ? split.inside(4) : split.outside(element), lanes);
}

}  // namespace rondo::cuda
