// Several ranks on each of several hosts: memory inside a host, messages between hosts, in one communicator.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "jobs.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"

using namespace rondo;

namespace {

std::string sums(Communicator& communicator, std::uint64_t count) {
  std::vector<float> values(count, static_cast<float>(communicator.rank() + 1));
  if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32); !done) return to_string(done.error());
  const auto size = static_cast<float>(communicator.size());
  return values.front() == size * (size + 1) / 2 && values.back() == values.front() ? "" : "a wrong sum among " + std::to_string(communicator.size());
}

/// A message from each other rank to rank 0, which takes them as they come.
std::string from_anybody(Communicator& communicator) {
  const auto own = static_cast<float>(communicator.rank());
  if (communicator.rank() != 0) {
    auto sent = communicator.send(&own, 1, DataType::f32, 0);
    return sent ? "" : "send: " + to_string(sent.error());
  }
  std::uint64_t heard = 0;
  for (std::uint32_t k = 1; k < communicator.size(); ++k) {
    float value = 0;
    const auto source = communicator.recv_any(&value, 1, DataType::f32);
    if (!source) return "recv_any: " + to_string(source.error());
    if (value != static_cast<float>(*source)) return "a message of another rank than it says";
    heard |= std::uint64_t{1} << *source;
  }
  return heard == (std::uint64_t{1} << communicator.size()) - 2 ? "" : "not one message from each";
}

/// All of a host, one of each host, and all but the first; each of these in turn and beside the whole.
std::string splits(Communicator& whole, const std::vector<std::uint32_t>& on) {
  const std::uint32_t own = whole.rank();
  std::uint32_t before = 0;
  for (std::uint32_t rank = 0; rank < own; ++rank) before += on[rank] == on[own];
  for (const std::int32_t color : {static_cast<std::int32_t>(on[own]), static_cast<std::int32_t>(before), own == 0 ? no_color : 5}) {
    auto part = whole.split(color, 0);
    if (!part) return "split: " + to_string(part.error());
    if (*part)
      for (const std::uint64_t count : {1u, 100'000u})
        if (const std::string wrong = sums(**part, count); !wrong.empty()) return wrong;
    if (const std::string wrong = sums(whole, 1000); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

TEST_CASE("who calls a rank that has left is told so at once, also where what was split from the communicator lives on") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  const auto body = [](Communicator& made) -> std::string {
    std::optional<Communicator> whole(std::move(made));
    const bool first = whole->rank() < 2;
    auto part = whole->split(first ? 0 : 1, 0);
    if (!part) return "split: " + to_string(part.error());
    if (first) {
      whole.reset();
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      return sums(**part, 1000);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto begin = std::chrono::steady_clock::now();
    float value = 0;
    const auto received = whole->recv(&value, 1, DataType::f32, 3 - whole->rank());  // with which nothing has connected it
    const auto took = std::chrono::steady_clock::now() - begin;
    if (received || received.error().code != Errc::peer_failed) return received ? "there was a message" : to_string(received.error());
    return took < std::chrono::seconds(1) ? "" : "found out late: " + to_string(received.error());
  };
  CHECK(complaints(run_children(ranks_on(hosts, {0, 0, 1, 1}, body), 60)) == "");
}

TEST_CASE("ranks that share hosts get right results of every collective, messages and splits, however many are where") {
  if (!can_make_hosts()) return;
  const Hosts hosts(3);
  REQUIRE(hosts.trouble() == "");
  for (const std::vector<std::uint32_t>& on : {std::vector<std::uint32_t>{0, 0, 1, 1}, {0, 0, 1}, {0, 1, 0, 1, 2}}) {
    INFO("hosts " << Catch::StringMaker<std::vector<std::uint32_t>>::convert(on));
    const auto body = [&on](Communicator& communicator) {
      for (const auto& trial : {every_collective, from_anybody})
        if (const std::string wrong = trial(communicator); !wrong.empty()) return wrong;
      return splits(communicator, on);
    };
    CHECK(complaints(run_children(ranks_on(hosts, on, body), 100)) == "");
  }
}

/// A list of tensors of unlike lengths, summed by way of bf16 where that is asked for. Every rank must end with the same bits, near the sums.
std::string reduces_lists(Communicator& communicator, std::optional<DataType> wire) {
  const std::vector<std::uint64_t> counts{1, 300'000, 17, 4096, 77'777};
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<Tensor> tensors;
  const auto given = [](std::uint32_t rank, std::uint64_t i) { return 1 + static_cast<float>((i * 37 + rank * 101) % 1009) / 1009; };
  std::uint64_t at = 0;
  for (const std::uint64_t count : counts) {
    outputs.emplace_back(count);
    std::vector<float>& input = inputs.emplace_back(count);
    for (float& value : input) value = given(communicator.rank(), at++);
  }
  for (std::size_t k = 0; k < counts.size(); ++k) tensors.push_back({inputs[k].data(), outputs[k].data(), counts[k]});
  Bucket bucket;
  bucket.tensors = tensors;
  bucket.type = DataType::f32;
  bucket.wire = wire;
  if (auto done = communicator.all_reduce_fused(bucket); !done) return to_string(done.error());
  const double most = wire ? (2.0 + communicator.size()) / 256 : 1e-6;
  at = 0;
  std::uint64_t sum_of_bits = 0;
  for (const std::vector<float>& output : outputs)
    for (const float value : output) {
      double expected = 0;
      for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) expected += static_cast<double>(given(rank, at));
      if (std::abs(static_cast<double>(value) - expected) > most * expected) return "element " + std::to_string(at) + " is wrong";
      sum_of_bits = sum_of_bits * 1'000'003 + std::bit_cast<std::uint32_t>(value);
      ++at;
    }
  std::vector<std::uint64_t> all(communicator.size());
  if (auto done = communicator.all_gather(&sum_of_bits, all.data(), 1, DataType::u64); !done) return to_string(done.error());
  return std::all_of(all.begin(), all.end(), [&](std::uint64_t one) { return one == all.front(); }) ? "" : "ranks have results of different bits";
}

TEST_CASE("lists of tensors are summed between hosts, by way of a wire type too, and all ranks have the same bits") {
  if (!can_make_hosts()) return;
  const Hosts hosts(3);
  REQUIRE(hosts.trouble() == "");
  for (const bool integrity : {false, true})
    for (const std::vector<std::uint32_t>& on : {std::vector<std::uint32_t>{0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1, 2}}) {
      INFO("hosts " << Catch::StringMaker<std::vector<std::uint32_t>>::convert(on) << (integrity ? ", checked" : ""));
      CommunicatorOptions options = quick();
      options.integrity = integrity;
      const auto body = [](Communicator& communicator) {
        for (const std::optional<DataType> wire : {std::optional<DataType>(), std::optional(DataType::bf16), std::optional(DataType::f16)})
          if (const std::string wrong = reduces_lists(communicator, wire); !wrong.empty()) return (wire ? std::string(to_string(*wire)) : "f32") + ": " + wrong;
        return std::string();
      };
      CHECK(complaints(run_children(ranks_on(hosts, on, body, options), 100)) == "");
    }
}

TEST_CASE("by way of bf16 a host sends half of the bytes") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  constexpr std::uint64_t count = 4 << 20;
  const auto before = hosts.bytes_sent(0);
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(count, 3);
    const std::vector<Tensor> tensors{{values.data(), values.data(), count}};
    Bucket bucket;
    bucket.tensors = tensors;
    bucket.type = DataType::f32;
    bucket.wire = DataType::bf16;
    auto done = communicator.all_reduce_fused(bucket);
    return !done ? to_string(done.error()) : values.front() == 12 && values.back() == 12 ? "" : "a wrong sum";
  };
  CHECK(complaints(run_children(ranks_on(hosts, {0, 0, 1, 1}, body), 100)) == "");
  const auto sent = static_cast<double>(hosts.bytes_sent(0) - before);
  CHECK(sent > count * 2.0);
  CHECK(sent < 1.1 * count * 2.0 + 400e3);
}

TEST_CASE("ranks that share hosts check what passes between them where that is asked for") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  CommunicatorOptions options = quick();
  options.integrity = true;
  CHECK(complaints(run_children(ranks_on(hosts, {0, 0, 1, 1}, every_collective, options), 100)) == "");
}

TEST_CASE("of an all_reduce of two hosts' ranks each host sends its sum once, and the rest stays in memory") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  constexpr std::uint64_t count = 4 << 20;
  const auto before = hosts.bytes_sent(0);
  CHECK(complaints(run_children(ranks_on(hosts, {0, 0, 1, 1}, [](Communicator& communicator) { return sums(communicator, count); }), 100)) == "");
  const auto sent = static_cast<double>(hosts.bytes_sent(0) - before);
  const double wanted = count * sizeof(float);
  CHECK(sent > wanted);
  CHECK(sent < 1.1 * wanted + 400e3);  // headers, acknowledgements, and what is said at creation; a ring would send half as much again
}

TEST_CASE("the transport that is asked for is taken where ranks share hosts, and an unknown one is refused with those that there are") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  for (const std::string name : {"tcp", "shm+tcp", "ucx", "shm+ucx"}) {
    CommunicatorOptions options = quick();
    options.transport = name;
    INFO(name);
    const auto body = [](Communicator& communicator) { return sums(communicator, 1000); };
    const std::string said = complaints(run_children(ranks_on(hosts, {0, 0, 1}, body, options), 60));
    const bool lacks_it = name.ends_with("ucx") && said.find("built without UCX") != std::string::npos;
    CHECK((said.empty() || lacks_it));
  }
  CommunicatorOptions options = quick();
  options.transport = "shm+pigeon";
  const auto refused = run_children(ranks_on(hosts, {0, 1}, [](Communicator&) -> std::string { return "it was taken"; }, options), 60);
  for (const std::string& answer : refused) CHECK(answer.find("'shm+pigeon'; accepted: shm, ucx, tcp, shm+ucx, shm+tcp") != std::string::npos);
}

TEST_CASE("ranks that share hosts and call different things get errors that say who called what") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  for (const std::uint32_t odd : {0u, 1u, 3u}) {
    INFO("rank " << odd << " calls another thing");
    const auto body = [odd](Communicator& communicator) {
      std::vector<float> values(64, 1);
      (void)communicator.barrier();
      const std::uint64_t count = communicator.rank() == odd ? 32 : 64;
      auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32);
      for (int more = 0; done && more < 3; ++more) done = communicator.barrier();
      return expect_error(done, Errc::mismatch, {"ranks disagree in call #"});
    };
    CHECK(complaints(run_children(ranks_on(hosts, {0, 0, 1, 1}, body), 60)) == "");
  }
}
