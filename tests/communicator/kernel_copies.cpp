// Ordinary memory of other processes, from which the kernel copies: right results, and clear errors where it can't.
#include <chrono>
#include <numeric>
#include <thread>

#include "communicator/kernel_copies.hpp"
#include "communicator/said.hpp"
#include "communicator/trial.hpp"
#include "support/arrivals.hpp"
#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

/// What the kernel copies; sums have no plans that read ordinary memory.
constexpr Collective copied[] = {Collective::broadcast, Collective::all_gather, Collective::gather, Collective::all_to_all, Collective::scatter};

std::string all_types(Communicator& communicator) { return perform_all(communicator, false, copied); }

/// Two at least.
std::string pieces_by_copies(Communicator& communicator) {
  return perform_moving(communicator, {sanitized ? 1'100'003u : 2'500'007u}, false, copied);
}

}  // namespace

bool kernel_copies() {
  const auto body = [](Communicator& communicator) -> std::string {
    const float value = 1;
    float values[2];
    const auto plan = communicator.plan_for(Call{Collective::all_gather, &value, values, 1});
    if (!plan) return to_string(plan.error());
    for (const Candidate& candidate : plan->considered)
      if (candidate.algorithm == "direct_one_shot" && candidate.predicted_ns > 0) return "";
    return "refused";
  };
  const bool may = complaints(run_processes(2, body)).empty();
  if (!may) WARN("the kernel copies nothing between processes here ('rondo doctor' says why): not tested");
  return may;
}

TEST_CASE("what the kernel copies from rank to rank is right for every collective, type, odd count and place") {
  for (const char* algorithm : {"direct_one_shot", "direct_push_pull"}) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 7u}) {
      INFO(ranks << " ranks " << algorithm);
      CHECK(complaints(run_processes(ranks, all_types, forced(algorithm))) == "");
    }
    for (const std::uint32_t ranks : {2u, 5u}) CHECK(complaints(run_processes(ranks, pieces_by_copies, forced(algorithm))) == "");
  }
}

TEST_CASE("ordinary memory is read where it lies by the collectives that only move, and by no others") {
  if (!kernel_copies()) return;
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 300'000;
    std::vector<float> in(count * communicator.size(), 1), out(count * communicator.size());
    const auto algorithm = [&](Collective collective) -> std::string {
      const auto plan = communicator.plan_for(Call{collective, in.data(), out.data(), count});
      return plan ? plan->header.algorithm : to_string(plan.error());
    };
    for (const Collective collective : {Collective::all_gather, Collective::all_to_all, Collective::broadcast, Collective::gather, Collective::scatter})
      if (algorithm(collective) != "direct_one_shot") return "not direct: " + std::string(to_string(collective)) + " by " + algorithm(collective);
    for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter})
      if (algorithm(collective) == "direct_one_shot") return "direct: " + std::string(to_string(collective));
    const auto overwriting = communicator.plan_for(Call{Collective::all_to_all, in.data(), in.data(), count});
    if (!overwriting || overwriting->header.algorithm == "direct_one_shot")
      return "all_to_all in place is direct";
    if (auto done = communicator.all_gather(in.data(), out.data(), count, DataType::f32); !done) return to_string(done.error());
    const std::string record = communicator.flight_record();
    return record.find("all_gather of 300000 f32 by direct_one_shot: done") == std::string::npos ? record : "";
  };
  CHECK(complaints(run_processes(3, body, forced("direct_one_shot"))) == "");
}

TEST_CASE("split communicators of processes read one another's memory, too") {
  const auto body = [](Communicator& communicator) -> std::string {
    auto child = communicator.split(static_cast<std::int32_t>(communicator.rank() % 2), -static_cast<std::int32_t>(communicator.rank()));
    if (!child) return to_string(child.error());
    return pieces_by_copies(**child);
  };
  for (const char* algorithm : {"direct_one_shot", "direct_push_pull"}) CHECK(complaints(run_processes(4, body, forced(algorithm))) == "");
}

TEST_CASE("a buffer that the kernel can't read is an error that names its rank") {
  if (!kernel_copies()) return;
  const auto body = [](Communicator& communicator) -> std::string {
    const bool guilty = communicator.rank() == 1;
    float* const in = map(guilty ? PROT_NONE : PROT_READ | PROT_WRITE);  // only the root reads it
    std::vector<float> out(mapped_bytes / 4 * communicator.size());
    const auto done = communicator.gather(in, out.data(), mapped_bytes / 4, DataType::f32, 0);
    return expect_error(done, Errc::peer_failed, {"buffer that rank 1", "gather of 4194304 f32"});
  };
  CHECK(complaints(run_processes(3, body, forced("direct_one_shot"))) == "");
}

TEST_CASE("processes whose call has failed may unmap their buffers at once, and nobody passes off what was read of them") {
  for (int round = 0; round < 40; ++round) {
    const bool by_blocks = round % 2 == 1;  // an all_to_all_v, whose blocks go by rendezvous
    const auto body = [round, by_blocks](Communicator& communicator) -> std::string {
      float* const in = map();
      float* const out = static_cast<float*>(mmap(nullptr, 3 * mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
      std::fill(in, in + mapped_bytes / 4, 1.0f);
      std::thread aborter;
      if (communicator.rank() == 1) aborter = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(250 * round));
        communicator.abort();
      });
      Result<void> result;
      std::string wrong;
      while (result && wrong.empty()) {
        std::fill(out, out + 3 * mapped_bytes / 4, 0.0f);
        const std::vector<std::uint64_t> counts(3, mapped_bytes / 4), same_place(3, 0);
        result = by_blocks ? communicator.all_to_all_v(in, {counts, same_place}, out, {counts}, DataType::f32)
                           : communicator.all_gather(in, out, mapped_bytes / 4, DataType::f32);
        for (std::uint64_t i = 0; result && wrong.empty() && i < 3 * mapped_bytes / 4; i += 1021)
          if (out[i] != 1.0f) wrong = "passed off what wasn't there";
      }
      std::fill(in, in + mapped_bytes / 4, 2.0f);
      munmap(in, mapped_bytes);
      munmap(out, 3 * mapped_bytes);
      if (aborter.joinable()) aborter.join();
      return wrong.empty() ? expect_error(result, Errc::aborted, {"abort()"}) : wrong;
    };
    INFO("round " << round);
    CHECK(complaints(run_processes(3, body, forced("direct_one_shot"))) == "");
  }
}

TEST_CASE("a block of an all_to_all_v is its sender's again when the call returns, and not before it has been read") {
  const auto body = [](Communicator& communicator) -> std::string {
    const std::uint32_t size = communicator.size(), rank = communicator.rank();
    const std::uint64_t lengths[] = {7, 300'000, 20'000, 1'000'003};
    for (std::uint64_t round = 0; round < 48; ++round) {
      // Pair (a, b)'s block is as long as b's, and any rank may be late.
      std::vector<std::uint64_t> sent(size), received(size);
      for (std::uint32_t other = 0; other < size; ++other) {
        sent[other] = lengths[(rank + 2 * other + round) % 4];
        received[other] = lengths[(other + 2 * rank + round) % 4];
      }
      const auto sum = [](const std::vector<std::uint64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); };
      std::vector<std::uint32_t> out(sum(sent), static_cast<std::uint32_t>(round * size + rank)), in(sum(received));
      if (round % (size + 1) == rank) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const auto done = communicator.all_to_all_v(out.data(), {sent}, in.data(), {received}, DataType::u32);
      std::fill(out.begin(), out.end(), ~0u);
      if (!done) return to_string(done.error());
      std::uint64_t at = 0;
      for (std::uint32_t from = 0; from < size; ++from)
        for (std::uint64_t i = 0; i < received[from]; ++i, ++at)
          if (in[at] != round * size + from) return "round " + std::to_string(round) + ": a wrong element of rank " + std::to_string(from);
    }
    return "";
  };
  for (const std::uint32_t ranks : {2u, 3u, 5u}) CHECK(complaints(run_processes(ranks, body)) == "");
}

TEST_CASE("a block of an all_to_all_v that the kernel can't read is an error that names its rank") {
  if (!kernel_copies()) return;
  // Between near cores of some processors slots are the shorter way, on which the rank would read the block itself.
  const Said far(2000);
  const auto body = [](Communicator& communicator) -> std::string {
    float* const in = map(communicator.rank() == 1 ? PROT_NONE : PROT_READ | PROT_WRITE);
    std::vector<std::uint64_t> to_other(2, mapped_bytes / 8);
    to_other[communicator.rank()] = 0;
    std::vector<float> out(mapped_bytes / 8);
    const auto done = communicator.all_to_all_v(in, {to_other}, out.data(), {to_other}, DataType::f32);
    return expect_error(done, Errc::peer_failed, {"buffer that rank 1", "all_to_all_v of f32"});
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("who is through with an all_to_all_v and fails in its next call holds up nobody who still copies a block") {
  constexpr std::uint64_t long_block = std::uint64_t{192} << 20;
  const Arrivals failed;
  const auto body = [&failed](Communicator& communicator) -> std::string {
    const std::uint32_t rank = communicator.rank();
    std::vector<std::uint64_t> sent(3, 1), received(3, 1);
    if (rank == 2) sent[0] = long_block;
    if (rank == 0) received[2] = long_block;
    std::vector<std::uint8_t> out(rank == 2 ? long_block + 2 : 3, static_cast<std::uint8_t>(rank + 1)), in(rank == 0 ? long_block + 2 : 3);
    const auto done = communicator.all_to_all_v(out.data(), {sent}, in.data(), {received}, DataType::u8);
    if (!done) return to_string(done.error());
    if (in[0] != 1 || in[1] != 2 || in[2] != 3 || in.back() != 3) return "a wrong block";
    if (rank != 1) return failed.await(1) ? "" : "rank 1 doesn't fail";  // who left would be its barrier's error
    auto result = communicator.set_timeout(std::chrono::milliseconds(2));
    if (result) result = communicator.barrier();
    failed.count();
    return expect_error(result, Errc::deadline_exceeded, {"barrier"});
  };
  CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("an output that can't be written is this rank's error, and the others learn of it") {
  if (!kernel_copies()) return;
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> in(mapped_bytes / 4), out(mapped_bytes / 4 * communicator.size());
    float* const output = communicator.rank() == 0 ? map(PROT_READ) : out.data();
    const auto done = communicator.broadcast(in.data(), output, mapped_bytes / 4, DataType::f32, 1);
    if (communicator.rank() == 0) return expect_error(done, Errc::invalid_argument, {"this rank's output of broadcast", "can't be written"});
    return done ? "" : expect_error(done, Errc::peer_failed, {"rank 0 ", "can't be written"});
  };
  CHECK(complaints(run_processes(3, body, forced("direct_one_shot"))) == "");
}

TEST_CASE("calls without elements need no buffers where the kernel copies, either") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (const Collective collective : moving_collectives)
      if (auto done = communicator.run(Call{collective, nullptr, nullptr, 0, DataType::f32}); !done) return to_string(done.error());
    return "";
  };
  CHECK(complaints(run_processes(2, body, forced("direct_one_shot"))) == "");
}

TEST_CASE("kill -9 while others read the rank's memory, or write to it, gives them an error that names it") {
  for (int round = 0; round < 24; ++round) {
    const Death death;
    // Rank 2 is read; or it receives what rank 0 pushes, or sends.
    const bool gathers = round % 3 == 0;
    const std::uint32_t root = round % 3 == 1 ? 0 : 2;
    const auto body = [&](Communicator& communicator) -> std::string {
      std::vector<float> in(mapped_bytes / 4, 1);
      std::vector<float> out(in.size() * communicator.size());
      std::thread killer;
      if (communicator.rank() == 2) killer = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(20'000 + 700 * round));
        death.come();
      });
      Result<void> result;
      while (result && gathers) result = communicator.all_gather(in.data(), out.data(), in.size(), DataType::f32);
      while (result) result = communicator.broadcast(in.data(), in.data(), in.size(), DataType::f32, root);
      if (killer.joinable()) killer.join();
      return expect_error(result, Errc::peer_failed, {"rank 2 ", "died"});
    };
    auto answers = run_processes(3, body, forced(gathers ? "direct_one_shot" : "direct_push_pull"), 30);
    INFO("round " << round);
    REQUIRE(answers.back() == "ended by signal 9");
    answers.pop_back();
    REQUIRE(complaints(answers) == "");
  }
}
