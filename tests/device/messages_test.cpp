// Messages by blocks of several threads: what tests of communicators on a made-up GPU run by blocks of one.
#include <algorithm>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "device/fit.hpp"
#include "device/host_block.hpp"
#include "device/run_messages.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr std::uint32_t pair_slices = 3;
constexpr std::uint64_t staging_bytes = 96u << 10;

struct alignas(256) Line {
  std::byte bytes[256];
};

/// Both ends' plans of messages of so many bytes, fitted and ready.
struct PairPlan {
  device::Fitted fitted[2];
  device::Job calls[2];
  bool inlined = false;
};

/// Ranks whose blocks are threads, and what they keep for messages.
class HostPairs {
 public:
  HostPairs(std::uint32_t ranks, unsigned threads)
      : threads_(threads), pairs_(device::pair_areas(sizeof(device::RankWords), staging_bytes, ranks, pair_slices)) {
    areas_.resize(ranks);
    hosts_.resize(ranks);
    for (auto& area : areas_) area.resize(pairs_.total_bytes(ranks) / sizeof(Line) + 1);
  }

  PairPlan& plan(const char* algorithm, std::uint64_t bytes) {
    Request request;
    request.collective = Collective::send_recv;
    request.ranks = 2;
    request.count = bytes;
    request.type = DataType::u8;
    request.symmetric = std::string_view(algorithm).starts_with("direct");
    PlanLimits limits;
    limits.staging_bytes = pairs_.slice_bytes;
    limits.inline_bytes = 64;
    const auto made = make_plan(Topology{}, cost_model(Topology{}, 2), limits, request, algorithm);
    REQUIRE(made);
    plans_.push_back(std::make_unique<PairPlan>());
    PairPlan& plan = *plans_.back();
    for (std::uint32_t end = 0; end < 2; ++end) {
      device::FitRequest fit;
      fit.rank = end;
      fit.count = bytes;
      fit.type = DataType::u8;
      fit.layout = pairs_.layout;
      fit.slice_bytes = pairs_.slice_bytes;
      fit.blocks = pair_slices;
      fit.threads = threads_;
      fit.piece_bytes = 1024;
      fit.direct = request.symmetric;
      auto fitted = device::fit(lower(*made), fit);
      REQUIRE(fitted);
      plan.fitted[end] = std::move(*fitted);
      device::Group group;
      group.rank = end;
      plan.calls[end] = job_of(plan.fitted[end], group, ReduceOp::sum);
      plan.calls[end].steps = plan.fitted[end].executable.steps.data();
      plan.calls[end].operands = plan.fitted[end].executable.operands.data();
      plan.inlined = plan.fitted[end].executable.inlined;
    }
    return plan;
  }

  device::Message end(const PairPlan& plan, bool sends, std::uint32_t peer, std::vector<std::uint8_t>& memory) {
    device::Message message = device::message_of(plan.calls[sends ? 0 : 1], memory.size(), plan.inlined);
    message.peer = peer;
    message.buffer = reinterpret_cast<std::byte*>(memory.data());
    message.digest = 9;
    return message;
  }

  /// Every rank's messages; where `by_turns`, one rank's blocks at a time.
  void run(std::vector<std::vector<device::Message>> messages, bool by_turns) {
    std::vector<device::Exchange> exchanges;
    for (std::uint32_t rank = 0; rank < messages.size(); ++rank) {
      device::Exchange exchange;
      exchange.group.rank = rank;
      exchange.group.ranks = static_cast<std::uint32_t>(messages.size());
      for (std::uint32_t r = 0; r < messages.size(); ++r) exchange.group.areas[r] = areas_[r].front().bytes;
      exchange.group.host = &hosts_[rank];
      exchange.group.timeout_ns = 20'000'000'000;
      exchange.areas = pairs_;
      exchange.messages = static_cast<std::uint32_t>(messages[rank].size());
      exchange.blocks = deal_blocks(messages[rank], exchange.group.ranks);
      exchange.threads = threads_;
      exchange.number = number_ + 1;
      exchange.by_turns = by_turns;
      exchanges.push_back(exchange);
    }
    ++number_;
    std::vector<bool> ended(messages.size());
    for (int turn = 0; by_turns && turn < 10'000 && std::find(ended.begin(), ended.end(), false) != ended.end(); ++turn) {
      const std::size_t rank = static_cast<std::size_t>(turn) % messages.size();
      if (ended[rank]) continue;
      hosts_[rank].waiting = 0;
      Blocks(exchanges[rank], messages[rank]);
      ended[rank] = hosts_[rank].waiting == 0;
    }
    if (by_turns) return;
    std::vector<std::unique_ptr<Blocks>> all;
    for (std::size_t rank = 0; rank < messages.size(); ++rank) all.push_back(std::make_unique<Blocks>(exchanges[rank], messages[rank]));
  }

  std::uint64_t outcome(std::uint32_t rank) const { return hosts_[rank].report.outcome; }

 private:
  /// Of one rank; the end of this waits for them.
  class Blocks {
   public:
    Blocks(const device::Exchange& exchange, const std::vector<device::Message>& messages) {
      for (std::uint32_t number = 0; number < exchange.blocks; ++number) {
        states_.push_back(std::make_unique<HostBlockState>(exchange.threads));
        jobs_.push_back(std::make_unique<device::Job>());
        for (unsigned thread = 0; thread < exchange.threads; ++thread)
          threads_.emplace_back([&exchange, &messages, number, thread, &state = *states_.back(), &job = *jobs_.back()] {
            HostBlock block(state, thread);
            run_messages(block, job, exchange, messages.data(), number);
          });
      }
    }

   private:
    std::vector<std::unique_ptr<HostBlockState>> states_;
    std::vector<std::unique_ptr<device::Job>> jobs_;
    std::vector<std::jthread> threads_;  // joined first
  };

  unsigned threads_;
  device::PairAreas pairs_;
  std::vector<std::vector<Line>> areas_;
  std::vector<device::HostWords> hosts_;
  std::vector<std::unique_ptr<PairPlan>> plans_;
  std::uint64_t number_ = 0;
};

std::vector<std::uint8_t> letter(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::uint8_t> all(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) all[i] = static_cast<std::uint8_t>(i * 13 + i / 255 + seed * 71);
  return all;
}

/// Rank 0 sends rank 1 messages of these lengths in one exchange, and gets as many back. How many arrived wrong.
std::size_t wrong_of(HostPairs& pairs, const char* algorithm, const std::vector<std::uint64_t>& lengths, bool by_turns, std::uint64_t seed) {
  std::vector<std::vector<device::Message>> messages(2);
  std::vector<std::vector<std::uint8_t>> memory;
  memory.reserve(4 * lengths.size());
  for (const std::uint64_t bytes : lengths)
    for (std::uint32_t from = 0; from < 2; ++from) {
      const PairPlan& plan = pairs.plan(algorithm, bytes);
      memory.push_back(letter(bytes, seed + memory.size()));
      messages[from].push_back(pairs.end(plan, true, 1 - from, memory.back()));
      memory.emplace_back(bytes);
      messages[1 - from].push_back(pairs.end(plan, false, from, memory.back()));
    }
  pairs.run(messages, by_turns);
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < memory.size(); k += 2) wrong += memory[k] != memory[k + 1];
  return wrong;
}

}  // namespace

TEST_CASE("messages by blocks of several threads arrive, several in an exchange, of every plan") {
  const unsigned threads = GENERATE(1u, 3u);
  HostPairs pairs(2, threads);
  for (const char* algorithm : {"one_shot", "ring", "direct_one_shot"})
    for (std::uint64_t round = 0; round < 5; ++round) {
      INFO(algorithm << ", round " << round);
      REQUIRE(wrong_of(pairs, algorithm, {1, 20'000, 700, 5'001}, false, 10 * round) == 0);
    }
  for (std::uint64_t round = 0; round < 5; ++round) REQUIRE(wrong_of(pairs, "inline", {8, 1, 56}, false, 10 * round) == 0);
  CHECK(pairs.outcome(0) == 0);
  CHECK(pairs.outcome(1) == 0);
}

TEST_CASE("messages arrive by turns, where no rank's blocks run beside another's") {
  HostPairs pairs(2, 1);
  for (const char* algorithm : {"one_shot", "ring"})
    for (std::uint64_t round = 0; round < 5; ++round) {
      INFO(algorithm << ", round " << round);
      REQUIRE(wrong_of(pairs, algorithm, {1, 20'000, 700, 5'001}, true, 10 * round) == 0);
    }
}
