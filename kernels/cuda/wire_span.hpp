// A sum of f32 that lie, some of them, in memory as a 16-bit type, the wire: the kernels' work on a span, shared by threads.
#pragma once

#include <cstdint>

#include "kernels/cuda/combine_loops.hpp"
#include "kernels/cuda/element.hpp"
#include "kernels/cuda/lanes.hpp"
#include "kernels/cuda/pack.hpp"
#include "rondo/kernels.hpp"

namespace rondo::cuda {

/// What a WireCall says of elements, a few side by side; `W` is the wire type.
template <class W>
class WireSum {
 public:
  RONDO_HD explicit WireSum(const WireCall& call) : call_(call), factor_(static_cast<float>(call.scale)) {
    const std::uint64_t all = call.destination_count < 64 ? (std::uint64_t{1} << call.destination_count) - 1 : ~std::uint64_t{0};
    // What is rounded already stays as it is: a copy into slots alone rounds once, as it is stored.
    const bool combines = call.source_count > 1 || call.divisor != 0;
    rounds_sources_ = combines || call.wire_destinations != all;
    rounds_result_ = combines && call.wire_destinations != 0;
  }

  /// Elements before the first at which all buffers lie at a multiple of so many of their own; as many as there are, where they lie differently.
  RONDO_HD std::uint64_t elements_before(unsigned elements) const {
    const unsigned wanted = phase(call_.sources[0], is_wire(call_.wire_sources, 0), elements);
    unsigned differing = 0;
    for (std::uint32_t s = 1; s < call_.source_count; ++s) differing |= phase(call_.sources[s], is_wire(call_.wire_sources, s), elements) ^ wanted;
    for (std::uint32_t d = 0; d < call_.destination_count; ++d)
      differing |= phase(call_.destinations[d], is_wire(call_.wire_destinations, d), elements) ^ wanted;
    const std::uint64_t before = (elements - wanted) % elements;
    return differing != 0 || before > call_.count ? call_.count : before;
  }

  /// Elements from number `first` on; n: all sources, 0: however many there are.
  template <unsigned elements, unsigned n>
  RONDO_HD void combine(std::uint64_t first) const {
    const Adding adding{KernelCall()};
    Block<elements> sum;
    if constexpr (n != 0) {
      sum = leaf<n, elements>(0, first);
    } else {
      sum = combine_leaves<elements * sizeof(float)>(adding, call_.source_count, [&](auto some, std::uint32_t source) {
        return leaf<decltype(some)::value, elements>(source, first);
      });
    }
    RONDO_UNROLL
    for (unsigned e = 0; e < elements; ++e) {
      float& value = sum.words[e].values[0];
      if (call_.divisor != 0) value /= static_cast<float>(call_.divisor);
      if (rounds_result_) value = rounded(value);
    }
    RONDO_ROLLED
    for (std::uint32_t d = 0; d < call_.destination_count; ++d) store<elements>(sum, d, first);
  }

 private:
  using Adding = Combining<float, Sum>;
  template <unsigned elements>
  using Block = WidePack<float, elements * sizeof(float)>;
  /// Packs of the wire type, whose words hold two elements; of one element a word holds it.
  template <unsigned elements>
  using Narrow = Pack<W, (elements > 2 ? elements : 2) * sizeof(W)>;
  template <unsigned elements>
  using Floats = Pack<float, (elements > 4 ? 4 : elements) * sizeof(float)>;

  /// Of one source, as they lie.
  template <unsigned elements>
  struct Raw {
    std::uint32_t words[elements];
  };

  RONDO_HD static bool is_wire(std::uint64_t set, std::uint32_t i) { return (set >> i & 1) != 0; }
  RONDO_HD static float rounded(float value) { return widen(narrow<W>(value)); }
  RONDO_HD static unsigned phase(const void* base, bool wire, unsigned elements) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(base) / (wire ? sizeof(W) : sizeof(float))) % elements;
  }

  template <unsigned elements>
  RONDO_HD Raw<elements> load(std::uint32_t source, std::uint64_t first) const {
    Raw<elements> raw{};  // of the wire type fewer words
    if (is_wire(call_.wire_sources, source)) {
      const auto pack = Narrow<elements>::load(at(call_.sources[source], first * sizeof(W)), elements * sizeof(W));
      RONDO_UNROLL
      for (unsigned w = 0; w < pack.words_in_pack; ++w) raw.words[w] = pack.words[w];
      return raw;
    }
    RONDO_UNROLL
    for (unsigned e = 0; e < elements; e += Floats<elements>::words_in_pack) {
      const auto pack = Floats<elements>::load(at(call_.sources[source], (first + e) * sizeof(float)));
      RONDO_UNROLL
      for (unsigned w = 0; w < pack.words_in_pack; ++w) raw.words[e + w] = pack.words[w];
    }
    return raw;
  }

  template <unsigned elements>
  RONDO_HD Block<elements> understand(const Raw<elements>& raw, std::uint32_t source) const {
    Block<elements> block;
    const bool wire = is_wire(call_.wire_sources, source), scaled = is_wire(call_.scaled_sources, source);
    RONDO_UNROLL
    for (unsigned e = 0; e < elements; ++e) {
      float value = 0;
      if (wire) {
        value = widen(element_of<W>(raw.words[e / elements_in_word<W>], e % elements_in_word<W>));
      } else {
        value = machine::float_of(raw.words[e]);
        if (scaled) value = product(value, factor_);
        if (rounds_sources_) value = rounded(value);
      }
      block.words[e].values[0] = value;
    }
    return block;
  }

  /// Sources `source` to `source` + n - 1, n a power of two. All are loaded before the first is used.
  template <unsigned n, unsigned elements>
  RONDO_HD Block<elements> leaf(std::uint32_t source, std::uint64_t first) const {
    const Adding adding{KernelCall()};
    Raw<elements> raw[n];
    RONDO_UNROLL
    for (unsigned s = 0; s < n; ++s) raw[s] = load<elements>(source + s, first);
    Block<elements> blocks[n];
    RONDO_UNROLL
    for (unsigned s = 0; s < n; ++s) blocks[s] = understand<elements>(raw[s], source + s);
    RONDO_UNROLL
    for (unsigned width = 1; width < n; width *= 2) {
      RONDO_UNROLL
      for (unsigned s = 0; s < n; s += 2 * width) blocks[s] = Tree<Adding, elements * sizeof(float)>::combined(adding, blocks[s], blocks[s + width]);
    }
    return blocks[0];
  }

  template <unsigned elements>
  RONDO_HD void store(const Block<elements>& sum, std::uint32_t d, std::uint64_t first) const {
    if (is_wire(call_.wire_destinations, d)) {
      Narrow<elements> pack{};
      RONDO_UNROLL
      for (unsigned e = 0; e < elements; ++e)
        pack.words[e / elements_in_word<W>] |= in_place<W>(narrow<W>(sum.words[e].values[0]), e % elements_in_word<W>);
      pack.put(at(call_.destinations[d], first * sizeof(W)), elements * sizeof(W));
      return;
    }
    RONDO_UNROLL
    for (unsigned e = 0; e < elements; e += Floats<elements>::words_in_pack) {
      Floats<elements> pack;
      RONDO_UNROLL
      for (unsigned w = 0; w < pack.words_in_pack; ++w) pack.words[w] = machine::bits_of(sum.words[e + w].values[0]);
      pack.put(at(call_.destinations[d], (first + e) * sizeof(float)));
    }
  }

  const WireCall& call_;
  float factor_;
  bool rounds_sources_ = true;
  bool rounds_result_ = false;
};

/// Packs of so many elements, from `before` on. Returns how many elements there are up to their end.
template <class W, unsigned elements, unsigned n>
RONDO_HD inline std::uint64_t combine_wire_packs(const WireSum<W>& sum, std::uint64_t before, std::uint64_t count, Lanes lanes) {
  const std::uint64_t packs = (count - before) / elements;
  RONDO_ROLLED
  for (std::uint64_t pack = lanes.index; pack < packs; pack += lanes.count) sum.template combine<elements, n>(before + pack * elements);
  return before + packs * elements;
}

/// What WireCall says (rondo/kernels.hpp), with the bits of the processor's kernels; otherwise as combine_span().
template <class W>
RONDO_HD RONDO_OUT_OF_LINE inline void combine_wire_span(const WireCall& call, Lanes lanes) {
  if (call.source_count > most_sources) machine::give_up();
  const WireSum<W> sum(call);
  const std::uint32_t n = call.source_count;
  std::uint64_t before = 0, behind = 0;
  if (n == 1 || n == 2 || n == 4) {
    before = sum.elements_before(8);
    if (n == 1) behind = combine_wire_packs<W, 8, 1>(sum, before, call.count, lanes);
    else if (n == 2) behind = combine_wire_packs<W, 8, 2>(sum, before, call.count, lanes);
    else behind = combine_wire_packs<W, 8, 4>(sum, before, call.count, lanes);
  } else {
    before = sum.elements_before(4);
    behind = combine_wire_packs<W, 4, 0>(sum, before, call.count, lanes);
  }
  const std::uint64_t outside = before + (call.count - behind);
  RONDO_ROLLED
  for (std::uint64_t i = lanes.index; i < outside; i += lanes.count) sum.template combine<1, 0>(i < before ? i : behind + (i - before));
}

}  // namespace rondo::cuda
