// Message links of two ranks of this process, for tests that turn their cranks.
#pragma once

#include <array>
#include <cstring>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "executor/compile.hpp"
#include "executor/context.hpp"
#include "support/catch.hpp"

namespace rondo::test {

struct Letter {
  std::array<std::uint64_t, Message::header_words> header{};
  std::vector<std::byte> payload;
};
using Post = std::map<std::pair<std::uint32_t, std::uint32_t>, std::list<Letter>>;  ///< by receiver and channel

class Letters final : public Transport {
 public:
  explicit Letters(Post& post) : post_(post) {}
  std::string_view name() const override { return "letters"; }
  Result<Address> address() override { return Address{}; }
  Result<void> connect(const std::vector<Address>&, std::int64_t) override { return {}; }
  Message send_slot(std::uint32_t, std::uint32_t, std::uint64_t bytes) override {
    draft_.payload.resize(bytes);
    return {draft_.header.data(), draft_.payload.data(), bytes};
  }
  void post(std::uint32_t peer, std::uint32_t channel) override { post_[{peer, channel}].push_back(draft_); }
  Message receive_slot(std::uint32_t peer, std::uint32_t channel) override {
    auto& letters = post_[{1 - peer, channel}];
    if (letters.empty()) return {};
    return {letters.front().header.data(), letters.front().payload.data(), letters.front().payload.size()};
  }
  void release(std::uint32_t peer, std::uint32_t channel) override { post_[{1 - peer, channel}].pop_front(); }
  void progress() override { ++looks; }
  bool gone(std::uint32_t) const override { return false; }

  std::uint64_t looks = 0;  ///< turns of the crank

 private:
  Post& post_;
  Letter draft_;
};

/// A plan as the rank runs it on `count` elements of f32, all links being messages.
inline Executable compiled_over_links(const Plan& plan, std::uint32_t rank, std::uint64_t count, const ContextLayout& layout, bool checked = false) {
  CompileRequest request;
  request.rank = rank;
  request.count = count;
  request.layout = layout;
  request.reach = Reach::messages;
  request.checked = checked;
  auto executable = compile(lower(plan, true), request);
  REQUIRE(executable);
  return std::move(*executable);
}

/// One of the two, with an area of its own, which the other doesn't see.
struct LinkedRank {
  struct alignas(line_pair) Line {
    std::byte bytes[line_pair];
  };

  LinkedRank(const ContextLayout& layout, std::uint32_t rank, Post& post)
      : area(layout.total_bytes() / sizeof(Line)), letters(post), context(layout, rank, areas_of(rank), {0, 1}, &letters) {}

  std::vector<std::byte*> areas_of(std::uint32_t rank) {
    std::vector<std::byte*> areas(2, nullptr);
    areas[rank] = area.front().bytes;
    return areas;
  }

  std::vector<Line> area;
  Letters letters;
  Context context;
};

}  // namespace rondo::test
