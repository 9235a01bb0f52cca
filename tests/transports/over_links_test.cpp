// A communicator whose links are messages.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>

#include "benchmarks/bench/data.hpp"
#include "links.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/lists.hpp"
#include "support/ranks.hpp"
#include "support/uneven.hpp"

using namespace rondo;

namespace {

/// By this algorithm wherever it can serve; "": by the planner's choice.
CommunicatorOptions patient_over(const std::string& links, const std::string& algorithm = "") {
  CommunicatorOptions options = over(links, std::chrono::seconds(60));
  options.algorithm = algorithm;
  return options;
}

/// One call on fresh buffers of the exact size; "" or what is wrong with it.
std::string perform(Communicator& communicator, Collective collective, std::uint64_t count, DataType type) {
  static std::uint64_t seed = 0;
  const std::uint32_t root = collective == Collective::broadcast || collective == Collective::reduce
                                 ? static_cast<std::uint32_t>(++seed % communicator.size())
                                 : 0;
  const Shape shape{collective, type, ReduceOp::sum, communicator.size(), communicator.rank(), root, count};
  const BlockCounts blocks = block_counts(collective, shape.ranks);
  std::vector<char> input(blocks.input * count * size_of(type) + 1);
  std::vector<char> output(blocks.output * count * size_of(type) + 1);
  fill_input(shape, seed, input.data());
  const std::string name =
      std::string(to_string(collective)) + " of " + std::to_string(count) + " " + std::string(to_string(type));
  const Call call{collective, input.data(), output.data(), count, type, ReduceOp::sum, root, 1};
  if (auto done = communicator.run(call); !done) return name + ": " + to_string(done.error());
  const std::uint64_t wrong = count_wrong(shape, seed, output.data());
  return wrong == 0 ? "" : name + ": " + std::to_string(wrong) + " wrong";
}

std::string all_collectives(Communicator& communicator) {
  for (const std::uint64_t count : {0u, 1u, 5u, 63u, 257u, 4099u, 100'003u, 1'000'003u})
    for (const Collective collective : {Collective::all_reduce, Collective::broadcast, Collective::reduce,
                                        Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                        Collective::gather, Collective::scatter, Collective::scan}) {
      const DataType type = count % 2 == 0 ? DataType::f64 : DataType::f32;
      if (std::string wrong = perform(communicator, collective, count, type); !wrong.empty()) return wrong;
      if (auto done = communicator.barrier(); !done) return "barrier: " + to_string(done.error());
    }
  return "";
}

constexpr std::uint64_t message_counts[] = {0, 1, 10, 100'000};

std::string first_error(const std::vector<Result<void>>& results) {
  for (const auto& result : results)
    if (!result) return to_string(result.error());
  return "";
}

/// What a rank sends as its message number `number`.
std::vector<std::int32_t> message(std::uint32_t sender, int number, std::uint64_t count) {
  std::vector<std::int32_t> values(count);
  std::iota(values.begin(), values.end(), static_cast<std::int32_t>(sender * 1'000'000) + number);
  return values;
}

/// Sends to a peer and receives from it: the lower rank sends first.
std::string exchange(Communicator& communicator, std::uint32_t peer, std::uint64_t count, int number) {
  const auto out = message(communicator.rank(), number, count);
  std::vector<std::int32_t> in(count, -1);
  const auto send = [&] { return communicator.send(out.data(), count, DataType::i32, peer); };
  const auto receive = [&] { return communicator.recv(in.data(), count, DataType::i32, peer); };
  if (auto first = communicator.rank() < peer ? send() : receive(); !first) return to_string(first.error());
  if (auto second = communicator.rank() < peer ? receive() : send(); !second) return to_string(second.error());
  return in == message(peer, number, count) ? "" : "wrong message " + std::to_string(number) + " of " + std::to_string(count);
}

/// `depth` messages of each size at once round the ring, started and not waited for before all are.
std::string started_ring(Communicator& communicator, int depth) {
  const std::uint32_t next = (communicator.rank() + 1) % communicator.size();
  const std::uint32_t previous = (communicator.rank() + communicator.size() - 1) % communicator.size();
  for (const std::uint64_t count : message_counts) {
    std::vector<std::vector<std::int32_t>> out, in;
    std::vector<Work> works;
    for (int number = 0; number < depth; ++number) {
      out.push_back(message(communicator.rank(), number, count));
      in.emplace_back(count, -1);
    }
    for (auto& values : out) works.push_back(communicator.start_send(values.data(), count, DataType::i32, next));
    for (auto& values : in) works.push_back(communicator.start_recv(values.data(), count, DataType::i32, previous));
    for (Work& work : works)
      if (auto done = work.wait(); !done) return to_string(done.error());
    for (int number = 0; number < depth; ++number)
      if (in[static_cast<std::size_t>(number)] != message(previous, number, count)) return "wrong started message " + std::to_string(number);
  }
  return "";
}

/// A collective between messages to and from everybody, in one group.
std::string grouped(Communicator& communicator, std::uint64_t count) {
  std::vector<float> sum(1000, 1);
  const auto out = message(communicator.rank(), 3, count);
  std::vector<std::vector<std::int32_t>> in(communicator.size(), std::vector<std::int32_t>(count, -1));
  communicator.group_begin();
  for (std::uint32_t peer = 0; peer < communicator.size(); ++peer)
    if (peer != communicator.rank()) (void)communicator.send(out.data(), count, DataType::i32, peer);
  (void)communicator.all_reduce(sum.data(), sum.data(), sum.size(), DataType::f32);
  for (std::uint32_t peer = 0; peer < communicator.size(); ++peer)
    if (peer != communicator.rank()) (void)communicator.recv(in[peer].data(), count, DataType::i32, peer);
  if (auto done = communicator.group_end(); !done) return to_string(done.error());
  for (std::uint32_t peer = 0; peer < communicator.size(); ++peer)
    if (peer != communicator.rank() && in[peer] != message(peer, 3, count)) return "wrong grouped message from " + std::to_string(peer);
  return sum.back() == static_cast<float>(communicator.size()) ? "" : "wrong sum";
}

std::string all_messages(Communicator& communicator) {
  for (int number = 0; number < 5; ++number)
    for (const std::uint64_t count : message_counts) {
      if (communicator.rank() < 2)
        if (std::string wrong = exchange(communicator, 1 - communicator.rank(), count, number); !wrong.empty()) return wrong;
      if (std::string wrong = grouped(communicator, count); !wrong.empty()) return "grouped: " + wrong;
    }
  std::string wrong = started_ring(communicator, 10);
  return wrong.empty() ? "" : "started: " + wrong;
}

}  // namespace

TEST_CASE("all collectives over message links are right by the planner's choice and by four algorithms, for eight counts and 2 or 3 ranks") {
  const std::string links = each_link();
  for (const char* algorithm : {"", "ring", "tree", "recursive_doubling", "halving_doubling"})
    for (const std::uint32_t ranks : {2u, 3u}) {
      INFO((*algorithm == 0 ? "the planner's choice" : algorithm) << ", " << ranks << " ranks");
      CHECK(complaints(run_processes(ranks, all_collectives, patient_over(links, algorithm))) == "");
    }
}

TEST_CASE("algorithms of few rounds are right over message links, for eight counts and 3 or 4 ranks") {
  const std::string links = "tcp";  // what a link is made of is nothing to an algorithm
  for (const char* algorithm : {"rings", "bruck", "pat", "swing", "bine", "knomial", "chain", "parameter_server"})
    for (const std::uint32_t ranks : {3u, 4u}) {
      INFO(algorithm << ", " << ranks << " ranks");
      CHECK(complaints(run_processes(ranks, all_collectives, patient_over(links, algorithm))) == "");
    }
}

TEST_CASE("all_to_all_v over message links moves blocks of any lengths, and finds pairs that disagree on one") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    for (std::uint64_t seed = 0; seed < 60; ++seed)
      if (auto wrong = swap_uneven(communicator, seed, seed % 10 == 0 ? 300'000 : seed * seed * 10, static_cast<Way>(seed % 3)); !wrong.empty()) return wrong;
    std::vector<std::uint64_t> sent(communicator.size(), 100'000), received = sent;
    if (communicator.rank() == 0) sent[1] += 1;
    std::vector<std::int32_t> out(communicator.size() * 100'001), in(communicator.size() * 100'001);
    const auto ended = communicator.all_to_all_v(out.data(), {sent}, in.data(), {received}, DataType::i32);
    return expect_error(ended ? communicator.barrier() : ended, Errc::mismatch, {"rank 0 sends 400004 bytes to rank 1, which expects 400000"});
  };
  CHECK(complaints(run_processes(2, body, patient_over(links))) == "");
  CHECK(complaints(run_processes(3, body, patient_over(links))) == "");
}

TEST_CASE("lists of tensors over message links have the bits of one buffer, by the planner's choice and by four algorithms") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    for (const std::uint64_t count : {0u, 1u, 63u, 4099u, 300'007u})
      for (const std::uint32_t tensors : {1u, 5u, 60u}) {
        const Shape shape{Collective::all_reduce, DataType::f32, ReduceOp::sum, 0, 0, 0, count};
        if (auto wrong = reduce_list(communicator, {shape, tensors, count + tensors, static_cast<Way>(tensors % 3)}); !wrong.empty()) return wrong;
      }
    return "";
  };
  for (const char* algorithm : {"", "ring", "tree", "recursive_doubling", "halving_doubling"})
    for (const std::uint32_t ranks : {2u, 3u}) {
      INFO((*algorithm == 0 ? "the planner's choice" : algorithm) << ", " << ranks << " ranks");
      CHECK(complaints(run_processes(ranks, body, patient_over(links, algorithm))) == "");
    }
}

TEST_CASE("communicators split over message links have links of their own, and outlive the one they come from") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::optional<Communicator> pair, copy;
    {
      auto first = communicator.duplicate();
      if (!first) return to_string(first.error());
      auto made = first->split(communicator.rank() == 0 ? no_color : 4, -static_cast<std::int32_t>(communicator.rank()));
      auto twice = first->duplicate();
      if (!made || !twice) return to_string((!made ? made.error() : twice.error()));
      pair = std::move(*made);
      copy = std::move(*twice);
    }
    if (pair.has_value() != (communicator.rank() != 0)) return "no_color doesn't hold";
    for (int round = 0; round < 2; ++round) {
      if (pair)
        if (auto wrong = swap_uneven(*pair, 3, 200'000); !wrong.empty()) return "a part: " + wrong;
      if (auto wrong = all_collectives(*copy); !wrong.empty()) return "a copy: " + wrong;
      if (auto wrong = all_collectives(communicator); !wrong.empty()) return wrong;
    }
    return "";
  };
  CHECK(complaints(run_processes(3, body, patient_over(links))) == "");
}

TEST_CASE("messages over message links keep their order, blocking, started and grouped, whatever their size") {
  const std::string links = each_link();
  CHECK(complaints(run_processes(2, all_messages, patient_over(links))) == "");
  CHECK(complaints(run_processes(3, all_messages, patient_over(links))) == "");
  CHECK(complaints(run_threads(3, all_messages, patient_over(links))) == "");
}

TEST_CASE("two ranks exchange messages over message links while the others wait in a collective") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> sum(50'000, 1);
    if (communicator.rank() < 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the others are in it by now
      for (int number = 0; number < 20; ++number)
        for (const std::uint64_t count : message_counts)
          if (std::string wrong = exchange(communicator, 1 - communicator.rank(), count, number); !wrong.empty()) return wrong;
    }
    if (auto done = communicator.all_reduce(sum.data(), sum.data(), sum.size(), DataType::f32); !done) return to_string(done.error());
    return sum.back() == static_cast<float>(communicator.size()) ? "" : "wrong sum";
  };
  CHECK(complaints(run_processes(3, body, patient_over(links))) == "");
}

TEST_CASE("a started send over message links that its receiver is slow to take holds no other call up") {
  const std::string links = each_link();
  // Rank 2 takes rank 0's large message last, and what it does before needs rank 0's other calls to end.
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<std::int32_t> large(1 << 20, 7);
    std::int32_t word = 0;
    const auto send = [&](std::uint32_t to) { return communicator.send(&word, 1, DataType::i32, to); };
    const auto receive = [&](std::uint32_t from) { return communicator.recv(&word, 1, DataType::i32, from); };
    if (communicator.rank() == 0) {
      Work work = communicator.start_send(large.data(), large.size(), DataType::i32, 2);
      const std::string wrong = first_error({receive(1), send(1), communicator.barrier()});
      return wrong.empty() ? first_error({work.wait()}) : wrong;
    }
    if (communicator.rank() == 1) return first_error({send(0), receive(0), communicator.barrier(), send(2)});
    const std::string wrong = first_error({communicator.barrier(), receive(1)});
    if (!wrong.empty()) return wrong;
    std::vector<std::int32_t> got(large.size());
    auto taken = communicator.recv(got.data(), got.size(), DataType::i32, 0);
    return !taken ? to_string(taken.error()) : got == large ? "" : "a wrong message";
  };
  CommunicatorOptions options = patient_over(links);
  options.timeout = std::chrono::seconds(10);
  CHECK(complaints(run_processes(3, body, options)) == "");
}

TEST_CASE("a small send over message links returns before its receiver comes") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::int32_t value = 42;
    if (communicator.rank() == 0) return first_error({communicator.send(&value, 1, DataType::i32, 1), communicator.barrier()});
    value = 0;
    const std::string wrong = first_error({communicator.barrier(), communicator.recv(&value, 1, DataType::i32, 0)});
    return !wrong.empty() ? wrong : value == 42 ? "" : "wrong value";
  };
  CHECK(complaints(run_processes(2, body, patient_over(links))) == "");
}

TEST_CASE("ranks that leave after their last call over message links harm nobody") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(300'000, 1);
    for (int i = 0; i < 20; ++i)
      if (auto done = communicator.broadcast(values.data(), values.data(), values.size(), DataType::f32, 0); !done)
        return to_string(done.error());
    if (communicator.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20 * communicator.rank()));
    auto done = communicator.barrier();
    return done ? "" : to_string(done.error());
  };
  CHECK(complaints(run_processes(3, body, patient_over(links))) == "");
}

TEST_CASE("between ranks that share no memory allocate() gives ordinary memory") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 100'000;
    const auto memory = communicator.allocate(count * sizeof(float));
    if (!memory) return to_string(memory.error());
    auto* const values = static_cast<float*>(memory->get());
    if (std::any_of(values, values + count, [](float value) { return value != 0; })) return "it isn't zeroed";
    std::fill_n(values, count, 1.0f);
    if (auto done = communicator.all_reduce(values, values, count, DataType::f32); !done) return to_string(done.error());
    return std::count(values, values + count, static_cast<float>(communicator.size())) == count ? "" : "a wrong sum";
  };
  CHECK(complaints(run_processes(2, body, over(each_link()))) == "");
}
