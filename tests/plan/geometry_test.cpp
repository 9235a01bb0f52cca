#include <algorithm>

#include "samples.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

bool is_long(const PlanHeader& header, std::uint64_t count, std::size_t bytes) {
  const std::uint64_t unit = std::max<std::uint64_t>(1, header.alignment_bytes / bytes);
  return (count + unit - 1) / unit >= header.chunks_per_block;
}

}  // namespace

TEST_CASE("chunks cover every element of every block exactly once, in order, with aligned boundaries in long blocks") {
  for (const std::uint32_t ranks : {1u, 3u, 8u})
    for (const std::uint32_t chunks : {1u, 2u, 7u, 64u})
      for (const std::uint64_t count : {0ull, 1ull, 15ull, 16ull, 17ull, 1000ull, 4097ull, 5000000000ull})
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}})
          for (const std::uint32_t alignment : {1u, 4u, 64u, 4096u}) {
            PlanHeader made = header(ranks, chunks);
            made.collective = Collective::all_gather;
            made.alignment_bytes = alignment;
            INFO(chunks << " chunks, " << count << " elements of " << bytes << " bytes, alignment " << alignment);
            std::uint64_t next = 0;
            bool right = true;
            for (std::uint32_t c = 0; c < output_chunks(made); ++c) {
              const ElementRange range = chunk_range(made, count, bytes, c);
              if (c % chunks == 0) right &= next == c / chunks * count;
              right &= range.begin == next;
              if (is_long(made, count, bytes))
                right &= (range.begin - c / chunks * count) * bytes % std::max<std::size_t>(alignment, bytes) == 0;
              next = range.begin + range.count;
            }
            CHECK(right);
            CHECK(next == ranks * count);
          }
}

TEST_CASE("no chunk is empty while there is an element for each") {
  // Steps on empty chunks do nothing: a plan that is wrong there alone would look right.
  for (const std::uint32_t chunks : {1u, 2u, 3u, 7u, 64u})
    for (std::uint64_t count = 0; count < 3000; count += count < 200 ? 1 : 37)
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
        const PlanHeader made = header(2, chunks);
        std::uint32_t filled = 0;
        for (std::uint32_t c = 0; c < chunks; ++c) filled += chunk_range(made, count, bytes, c).count > 0;
        INFO(chunks << " chunks, " << count << " elements of " << bytes << " bytes");
        CHECK(filled == std::min<std::uint64_t>(chunks, count));
      }
}

TEST_CASE("short blocks are dealt out evenly by elements, long ones by cache lines") {
  const auto lengths = [](std::uint64_t count, std::uint32_t chunks) {
    std::vector<std::uint64_t> all;
    for (std::uint32_t c = 0; c < chunks; ++c) all.push_back(chunk_range(header(2, chunks), count, 4, c).count);
    return all;
  };
  using Lengths = std::vector<std::uint64_t>;
  CHECK(lengths(2, 2) == Lengths{1, 1});
  CHECK(lengths(5, 4) == Lengths{2, 1, 1, 1});
  CHECK(lengths(16, 2) == Lengths{8, 8});
  CHECK(lengths(17, 2) == Lengths{16, 1});
  CHECK(lengths(48, 4) == Lengths{12, 12, 12, 12});
  CHECK(lengths(64, 4) == Lengths{16, 16, 16, 16});
  CHECK(lengths(100, 3) == Lengths{48, 32, 20});
}

TEST_CASE("the first chunk of a block is its longest") {
  const PlanHeader made = header(2, 5);
  for (std::uint64_t count = 0; count < 300; ++count)
    for (std::uint32_t c = 1; c < 5; ++c)
      CHECK(chunk_range(made, count, 4, c).count <= chunk_range(made, count, 4, 0).count);
}

TEST_CASE("roots and point-to-point decide who has buffers") {
  PlanHeader made = header(3, 2);
  made.root = 2;
  made.collective = Collective::broadcast;
  CHECK((!has_input(made, 0) && has_input(made, 2) && has_output(made, 0)));
  made.collective = Collective::reduce;
  CHECK((has_input(made, 0) && !has_output(made, 0) && has_output(made, 2)));
  made.collective = Collective::send_recv;
  CHECK((has_input(made, 0) && !has_output(made, 0) && !has_input(made, 1) && has_output(made, 1)));
  made.collective = Collective::barrier;
  CHECK((!has_input(made, 0) && !has_output(made, 0) && input_chunks(made) == 0 && output_chunks(made) == 0));
  made.collective = Collective::reduce_scatter;
  CHECK((input_chunks(made) == 6 && output_chunks(made) == 2));
}
