// Messages between ranks with GPUs, and all_to_all_v. All need a GPU.
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>

#include "cuda/trials.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// What message `number` from one rank to another holds at `i`.
std::uint8_t content(std::uint32_t from, std::uint32_t to, std::uint64_t number, std::uint64_t i) {
  return static_cast<std::uint8_t>(i * 7 + i / 251 + from * 31 + to * 17 + number * 101);
}

std::vector<std::uint8_t> bytes_of(std::uint32_t from, std::uint32_t to, std::uint64_t number, std::uint64_t bytes) {
  std::vector<std::uint8_t> all(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) all[i] = content(from, to, number, i);
  return all;
}

/// The messages of an exchange with their memory.
class Letters {
 public:
  explicit Letters(GpuRank& rank) : rank_(rank) {}

  void send(std::uint32_t to, std::uint64_t number, std::uint64_t bytes) {
    auto& memory = keep(bytes);
    memory.put(bytes_of(rank_.gpu.rank(), to, number, bytes).data(), bytes);
    messages_.push_back(CudaMessage::send(memory.data(), bytes, DataType::u8, to, rank_.stream));
  }
  void receive(std::uint32_t from, std::uint64_t number, std::uint64_t bytes) {
    auto& memory = keep(bytes);
    messages_.push_back(CudaMessage::receive(memory.data(), bytes, DataType::u8, from, rank_.stream));
    expected_.push_back({&memory, from, number, bytes});
  }
  std::vector<CudaMessage>& messages() { return messages_; }

  /// "" or what is wrong.
  std::string run() {
    if (auto started = rank_.gpu.exchange(messages_); !started) return to_string(started.error());
    if (auto said = rank_.synchronize(); !said.empty()) return said;
    return judge();
  }
  std::string judge() const {
    for (const Expected& each : expected_) {
      std::vector<std::uint8_t> got(each.bytes);
      each.memory->get(got.data(), each.bytes);
      if (got != bytes_of(each.from, rank_.gpu.rank(), each.number, each.bytes))
        return "message " + std::to_string(each.number) + " of " + std::to_string(each.bytes) + " bytes from rank " + std::to_string(each.from) + " is wrong";
    }
    return "";
  }

 private:
  struct Expected {
    const GpuBuffer* memory;
    std::uint32_t from;
    std::uint64_t number, bytes;
  };
  GpuBuffer& keep(std::uint64_t bytes) {
    memory_.push_back(std::make_unique<GpuBuffer>(bytes));
    return *memory_.back();
  }

  GpuRank& rank_;
  std::vector<std::unique_ptr<GpuBuffer>> memory_;
  std::vector<CudaMessage> messages_;
  std::vector<Expected> expected_;
};

std::string pass_round(GpuRank& rank) {
  const std::uint32_t ranks = rank.gpu.size(), own = rank.gpu.rank();
  std::uint64_t number = 0;
  for (const std::uint64_t bytes : {0ull, 1ull, 8ull, 57ull, 1792ull, 1793ull, 4096ull, 65'537ull, 3'000'001ull})
    for (int again = 0; again < 3; ++again) {
      Letters letters(rank);
      letters.receive((own + ranks - 1) % ranks, ++number, bytes);
      letters.send((own + 1) % ranks, number, bytes);
      if (auto said = letters.run(); !said.empty()) return said;
    }
  return "";
}

/// Several to everybody, itself included, in an order of its own, without waiting in between.
std::string everybody_to_everybody(GpuRank& rank) {
  const std::uint32_t ranks = rank.gpu.size(), own = rank.gpu.rank();
  std::vector<std::unique_ptr<Letters>> rounds;
  for (std::uint64_t round = 0; round < 4; ++round) {
    rounds.push_back(std::make_unique<Letters>(rank));
    Letters& letters = *rounds.back();
    for (std::uint64_t k = 0; k < 2; ++k)
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const std::uint32_t peer = own % 2 == 0 ? r : ranks - 1 - r;
        const auto bytes = [&](std::uint32_t from, std::uint32_t to) {
          return (from * 7919u + to * 104'729u + k * 31u + round * 5003u) % (k == 0 ? 90'000u : 300u);
        };
        letters.send(peer, 2 * round + k, bytes(own, peer));
        letters.receive(peer, 2 * round + k, bytes(peer, own));
      }
    if (auto started = rank.gpu.exchange(letters.messages()); !started) return to_string(started.error());
  }
  if (auto said = rank.synchronize(); !said.empty()) return said;
  for (const auto& letters : rounds)
    if (auto said = letters->judge(); !said.empty()) return said;
  return "";
}

/// Rank 0's three messages run side by side: the one from rank 2 comes only after both to rank 1 have.
std::string none_waits_for_another(GpuRank& rank) {
  constexpr std::uint64_t bytes = 200'000;
  const auto alone = [&](bool sends, std::uint32_t peer, std::uint64_t number) {
    Letters letters(rank);
    if (sends) letters.send(peer, number, bytes);
    else letters.receive(peer, number, bytes);
    return letters.run();
  };
  if (rank.gpu.rank() == 0) {
    Letters letters(rank);
    letters.send(1, 1, bytes);
    letters.send(1, 2, bytes);
    letters.receive(2, 3, bytes);
    return letters.run();
  }
  if (rank.gpu.rank() == 1) {
    for (const std::uint64_t number : {1u, 2u})
      if (auto said = alone(false, 0, number); !said.empty()) return said;
    return alone(true, 2, 4);
  }
  if (auto said = alone(false, 1, 4); !said.empty()) return said;
  return alone(true, 0, 3);
}

std::uint64_t block_count(std::uint64_t seed, std::uint32_t from, std::uint32_t to) {
  std::mt19937_64 random(seed * 10'007 + from * 101 + to);
  return random() % 4 == 0 ? 0 : random() % 3 == 0 ? random() % 40'000 : random() % 60;
}

std::string blocks_of_all_lengths(GpuRank& rank) {
  const std::uint32_t ranks = rank.gpu.size(), own = rank.gpu.rank();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<std::uint64_t> sent(ranks), received(ranks);
    std::vector<float> input, expected;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      sent[r] = block_count(seed, own, r);
      received[r] = block_count(seed, r, own);
      for (std::uint64_t i = 0; i < sent[r]; ++i) input.push_back(static_cast<float>(own * 1000 + r * 100 + i % 97));
      for (std::uint64_t i = 0; i < received[r]; ++i) expected.push_back(static_cast<float>(r * 1000 + own * 100 + i % 97));
    }
    GpuBuffer in(input.size() * sizeof(float)), out(expected.size() * sizeof(float));
    in.put(input.data(), input.size() * sizeof(float));
    if (auto started = rank.gpu.all_to_all_v(in.data(), {sent, {}}, out.data(), {received, {}}, DataType::f32, rank.stream); !started)
      return to_string(started.error());
    if (auto said = rank.synchronize(); !said.empty()) return said;
    std::vector<float> got(expected.size());
    out.get(got.data(), got.size() * sizeof(float));
    if (got != expected) return "blocks of seed " + std::to_string(seed) + " are wrong";
  }
  return "";
}

/// Messages and collectives, one after the other.
std::string mixed(GpuRank& rank) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    if (auto said = pass_round(rank); !said.empty()) return said;
    if (auto said = try_once(rank, {Collective::all_reduce, DataType::f32, ReduceOp::sum, 5000 * seed, 0, false}, seed); !said.empty()) return said;
    if (auto said = everybody_to_everybody(rank); !said.empty()) return said;
  }
  return "";
}

std::string error_of(const Result<void>& result) { return result ? "" : to_string(result.error()); }

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// What check() says after an exchange that can't end well.
std::string outcome_of(GpuRank& rank, Letters& letters) {
  if (auto started = rank.gpu.exchange(letters.messages()); !started) return to_string(started.error());
  (void)cudaStreamSynchronize(rank.stream);
  return error_of(rank.gpu.check());
}

std::string differing(GpuRank& rank, std::uint64_t bytes) {
  Letters letters(rank);
  if (rank.gpu.rank() == 0) letters.send(1, 0, bytes);
  else letters.receive(0, 0, bytes + 8);
  if (rank.gpu.rank() == 0 && rank.gpu.size() == 2) letters.receive(1, 1, 100'000);  // so that the sender is still there
  const std::string found = outcome_of(rank, letters);
  for (const char* word : {"another message", "failed", "in vain", "called abort()"})  // the last: what the other rank's host said of the same failure
    if (contains(found, word)) return "";
  return "said '" + found + "'";
}

std::string in_vain(GpuRank& rank) {
  if (rank.gpu.rank() == 1) return "";
  Letters letters(rank);
  letters.receive(1, 0, 1000);
  const std::string found = outcome_of(rank, letters);
  return contains(found, "rank 1 was waited for in vain") ? "" : "said '" + found + "'";
}

}  // namespace

TEST_CASE("messages between ranks on a GPU arrive, of all lengths", "[brief]") {
  check_all(run_gpu_ranks(GENERATE(2u, 3u), pass_round));
}

TEST_CASE("every rank's messages to every rank on a GPU, itself among them, are matched in their order", "[brief]") {
  CudaOptions options;
  options.blocks = GENERATE(0u, 8u);
  check_all(run_gpu_ranks(3, everybody_to_everybody, options));
}

TEST_CASE("messages of an exchange on a GPU don't wait for one another") { check_all(run_gpu_ranks(3, none_waits_for_another)); }

TEST_CASE("all_to_all_v on a GPU moves blocks of all lengths", "[brief]") { check_all(run_gpu_ranks(GENERATE(1u, 2u, 3u), blocks_of_all_lengths)); }

TEST_CASE("messages and collectives on a GPU follow one another") { check_all(run_gpu_ranks(3, mixed)); }

TEST_CASE("messages on GPUs are captured into graphs, and are new at each replay") {
  check_all(run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    const std::uint32_t peer = 1 - rank.gpu.rank();
    GpuBuffer out(50'000), in(50'000);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    if (cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return "no capture";
    const std::vector<CudaMessage> messages = {CudaMessage::send(out.data(), 50'000, DataType::u8, peer, rank.stream),
                                               CudaMessage::receive(in.data(), 50'000, DataType::u8, peer, rank.stream)};
    if (auto started = rank.gpu.exchange(messages); !started) return to_string(started.error());
    if (cudaStreamEndCapture(rank.stream, &graph) != cudaSuccess || cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) return "no graph";
    std::string said;
    for (std::uint64_t round = 0; round < 10 && said.empty(); ++round) {
      out.put(bytes_of(rank.gpu.rank(), peer, round, 50'000).data(), 50'000);
      if (cudaGraphLaunch(ready, rank.stream) != cudaSuccess) return "no launch";
      said = rank.synchronize();
      std::vector<std::uint8_t> got(50'000);
      in.get(got.data(), got.size());
      if (said.empty() && got != bytes_of(peer, rank.gpu.rank(), round, 50'000)) said = "replay " + std::to_string(round) + " is wrong";
    }
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    return said;
  }));
}

TEST_CASE("the streams of an exchange wait for one another") {
  check_all(run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    const std::uint32_t peer = 1 - rank.gpu.rank();
    constexpr std::uint64_t bytes = 10'000;
    cudaStream_t other = nullptr;
    if (cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) != cudaSuccess) return "no stream";
    GpuBuffer late(bytes), out(bytes), in(bytes), copied(bytes);
    late.put(bytes_of(rank.gpu.rank(), peer, 1, bytes).data(), bytes);
    fill_gpu(other, 5'000'000);
    (void)cudaMemcpyAsync(out.data(), late.data(), bytes, cudaMemcpyDeviceToDevice, other);
    const std::vector<CudaMessage> messages = {CudaMessage::receive(in.data(), bytes, DataType::u8, peer, rank.stream),
                                               CudaMessage::send(out.data(), bytes, DataType::u8, peer, other)};
    if (auto started = rank.gpu.exchange(messages); !started) return to_string(started.error());
    (void)cudaMemcpyAsync(copied.data(), in.data(), bytes, cudaMemcpyDeviceToDevice, other);
    if (cudaStreamSynchronize(other) != cudaSuccess) return "the stream failed";
    std::vector<std::uint8_t> got(bytes);
    copied.get(got.data(), bytes);
    const auto said = rank.synchronize();
    (void)cudaStreamDestroy(other);
    if (!said.empty()) return said;
    return got == bytes_of(peer, rank.gpu.rank(), 1, bytes) ? "" : "the copy came before the message";
  }));
}

TEST_CASE("messages on a GPU that differ at their ends are a mismatch") {
  const std::uint64_t bytes = GENERATE(8u, 200'000u);
  check_all(run_gpu_ranks(2, [bytes](GpuRank& rank) { return differing(rank, bytes); }, with_timeout(std::chrono::milliseconds(2000))));
}

TEST_CASE("a message on a GPU that nobody sends is an error at the deadline") {
  check_all(run_gpu_ranks(2, in_vain, with_timeout(std::chrono::milliseconds(300))));
}

TEST_CASE("what makes no sense in an exchange is refused before anything is enqueued", "[brief]") {
  check_all(run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    const std::uint32_t own = rank.gpu.rank(), peer = 1 - own;
    const GpuBuffer buffer(4096);
    std::vector<float> plain(10);
    const auto said = [&](std::vector<CudaMessage> messages) { return error_of(rank.gpu.exchange(messages)); };
    const auto send = [&](void* data, std::uint64_t count, DataType type, std::uint32_t to) { return CudaMessage::send(data, count, type, to, rank.stream); };
    const auto receive = [&](std::uint64_t count, std::uint32_t from) { return CudaMessage::receive(buffer.data(), count, DataType::f32, from, rank.stream); };
    const std::vector<std::pair<std::string, const char*>> wrong = {
        {said({send(buffer.data(), 1, DataType::f32, 2)}), "message 0, to rank 2: its peer is not below 2 ranks"},
        {said({send(nullptr, 1, DataType::f32, peer)}), "its memory is null"},
        {said({send(buffer.data() + 1, 1, DataType::f32, peer)}), "not aligned"},
        {said({send(plain.data(), 1, DataType::f32, peer)}), "is not GPU memory"},
        {said({send(buffer.data(), 1, static_cast<DataType>(99), peer)}), "unknown type"},
        {said({send(buffer.data(), std::uint64_t{1} << 62, DataType::f32, peer)}), "more than 2^62 bytes"},
        {said({send(buffer.data(), 4, DataType::f32, own)}), "sends itself 1 messages and receives 0"},
        {said({send(buffer.data(), 4, DataType::f32, own), receive(5, own)}), "sends itself 4 f32 and receives 5 f32"},
        {said(std::vector<CudaMessage>(129, send(buffer.data(), 4, DataType::f32, peer))), "129 messages"},
    };
    for (const auto& [text, part] : wrong)
      if (!contains(text, part)) return "said '" + text + "' where '" + part + "' was expected";
    Request request;
    request.collective = Collective::send_recv;
    request.ranks = 2;
    const auto plan = make_plan(Topology{}, cost_model(Topology{}, 2), {}, request, "one_shot");
    if (const auto used = plan ? error_of(rank.gpu.use_plan(*plan)) : to_string(plan.error()); !contains(used, "a plan of send_recv")) return used;
    const std::vector<std::uint64_t> three = {1, 2, 3}, one = {1, 1};
    const auto blocks = error_of(rank.gpu.all_to_all_v(buffer.data(), {three, {}}, buffer.data(), {one, {}}, DataType::f32, rank.stream));
    if (!contains(blocks, "3 counts for 2 ranks")) return blocks;
    return pass_round(rank);
  }));
}

TEST_CASE("messages of processes that share a GPU arrive", "[.][processes]") {
  check_all(run_gpu_processes(GENERATE(2u, 4u), [](GpuRank& rank) -> std::string {
    fill_gpu(rank.stream, 500'000);
    if (auto said = pass_round(rank); !said.empty()) return said;
    return everybody_to_everybody(rank);
  }));
}

TEST_CASE("messages of an exchange don't wait for one another where processes share a GPU", "[.][processes]") {
  check_all(run_gpu_processes(3, none_waits_for_another));
}

TEST_CASE("all_to_all_v, messages and collectives of processes that share a GPU follow one another", "[.][processes]") {
  check_all(run_gpu_processes(3, [](GpuRank& rank) -> std::string {
    if (auto said = blocks_of_all_lengths(rank); !said.empty()) return said;
    return mixed(rank);
  }));
}

TEST_CASE("a message that nobody sends, or another one, is an error where processes share a GPU", "[.][processes]") {
  check_all(run_gpu_processes(2, in_vain, with_timeout(std::chrono::milliseconds(500))));
  check_all(run_gpu_processes(2, [](GpuRank& rank) { return differing(rank, 200'000); }, with_timeout(std::chrono::milliseconds(1000))));
}

TEST_CASE("a process that shares a GPU and dies before it sends is an error at once", "[.][processes]") {
  const auto said = run_gpu_processes(2, [](GpuRank& rank) -> std::string {
    if (rank.gpu.rank() == 1) _exit(0);
    Letters letters(rank);
    letters.receive(1, 0, 1000);
    const std::string found = outcome_of(rank, letters);
    return contains(found, "rank 1 (") && contains(found, "died") ? "" : "said '" + found + "'";
  });
  CHECK(said[0] == "");
}

TEST_CASE("processes on several GPUs send one another messages", "[.][processes]") {
  check_all(run_gpu_processes(3, [](GpuRank& rank) -> std::string {
    if (auto said = blocks_of_all_lengths(rank); !said.empty()) return said;
    return mixed(rank);
  }, {}, true));
}
