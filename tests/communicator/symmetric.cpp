// Memory that peers map: right results without staging, and what is wrong with it is said.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"
#include "support/sleep.hpp"

namespace {

using namespace rondo;

template <class T>
T* as(const Result<std::shared_ptr<void>>& memory) {
  return static_cast<T*>(memory->get());
}

using C = Collective;

/// What plans that only direct memory has serve.
const std::pair<const char*, std::vector<C>> direct_algorithms[] = {
    {"direct_one_shot", {C::all_reduce, C::reduce, C::broadcast, C::all_gather, C::gather, C::reduce_scatter, C::all_to_all, C::scatter}},
    {"direct_two_shot", {C::all_reduce, C::reduce}},
    {"direct_push", {C::all_reduce}},
    {"direct_push_pull", {C::broadcast, C::gather, C::scatter}}};

/// Calls on symmetric and on ordinary memory in any order; `alike`: on all ranks, else each has either.
std::string soak(Communicator& communicator, std::uint32_t calls, bool alike) {
  std::mt19937_64 random(31);
  const auto here = [&, bit = alike ? 0 : communicator.rank()] { return (random() >> bit & 1) != 0; };
  for (std::uint32_t i = 0; i < calls; ++i) {
    Trial trial{};
    trial.shape.collective = moving_collectives[random() % std::size(moving_collectives)];
    trial.shape.type = static_cast<DataType>(random() % data_type_count);
    trial.shape.op = ReduceOp::sum;
    trial.shape.root = static_cast<std::uint32_t>(random() % communicator.size());
    const std::uint64_t sizes[] = {random() % 64, random() % 2048, random() % 40'000, i % 64 == 0 ? random() % 400'000 : 7};
    trial.shape.count = sizes[random() % 4];
    trial.in_place = here();
    if (trial.shape.collective == Collective::all_to_all) trial.in_place = i % 2 == 0;
    trial.symmetric = here();
    trial.seed = random();
    if (auto wrong = perform(communicator, trial); !wrong.empty()) return "call " + std::to_string(i) + ", " + wrong;
  }
  return "";
}

}  // namespace

TEST_CASE("calls on symmetric memory give right results for every collective, type, operation, odd count and place") {
  const auto all_collectives = [](Communicator& communicator) { return perform_all(communicator, true); };
  for (const std::uint32_t ranks : numbers_of_ranks) {
    INFO(ranks << " ranks");
    CHECK(complaints(run_processes(ranks, all_collectives)) == "");
    for (const auto& [algorithm, served] : direct_algorithms) {
      INFO(algorithm);
      const auto body = [&served = served](Communicator& communicator) { return perform_all(communicator, true, served); };
      CHECK(complaints(run_processes(ranks, body, forced(algorithm))) == "");
    }
  }
  CHECK(complaints(run_threads(3, all_collectives)) == "");
}

TEST_CASE("calls of many pieces on symmetric memory are right") {
  for (const std::uint32_t ranks : {2u, 3u, 5u})
    for (const auto& [algorithm, served] : direct_algorithms) {
      INFO(ranks << " ranks " << algorithm);
      const auto body = [&served = served](Communicator& communicator) {
        return perform_moving(communicator, {sanitized ? 20'011u : 100'003u, sanitized ? 300'007u : 2'500'007u}, true, served);
      };
      CHECK(complaints(run_processes(ranks, body, forced(algorithm))) == "");
    }
}

TEST_CASE("calls on symmetric and on ordinary memory may be mixed") {
  for (const std::uint32_t ranks : {2u, 4u}) {
    INFO(ranks << " ranks");
    CHECK(complaints(run_processes(ranks, [](Communicator& c) { return soak(c, 2000, true); })) == "");
  }
}

TEST_CASE("ranks may differ in whether their memory is symmetric, and in being in place") {
  for (const std::uint32_t ranks : {2u, 3u, 4u})
    for (const char* algorithm : {"", "direct_one_shot", "direct_two_shot", "direct_push", "direct_push_pull"}) {
      INFO(ranks << " ranks " << algorithm);
      CHECK(complaints(run_processes(ranks, [](Communicator& c) { return soak(c, 1000, false); }, forced(algorithm))) == "");
    }
}

TEST_CASE("large calls on symmetric memory run plans that read it where it is, and others don't") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 1 << 20;
    const auto in = communicator.allocate(count * 4), out = communicator.allocate(count * 4);
    if (!in || !out) return "no memory";
    std::vector<float> ordinary(count);
    const auto protocol = [&](const void* input, void* output) {
      const auto plan = communicator.plan_for(Call{Collective::all_reduce, input, output, count});
      return plan ? plan->header.protocol : Protocol::inlined;
    };
    if (protocol(in->get(), out->get()) != Protocol::direct || protocol(in->get(), in->get()) != Protocol::direct) return "not direct";
    if (protocol(ordinary.data(), out->get()) != Protocol::staged || protocol(in->get(), ordinary.data()) != Protocol::staged) return "not staged";
    if (auto done = communicator.all_reduce(in->get(), out->get(), count, DataType::f32); !done) return to_string(done.error());
    const std::string record = communicator.flight_record();
    return record.find("in symmetric memory by direct_") == std::string::npos ? record : "";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a direct plan that is brought along reads symmetric memory where it is, and copies of other memory") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 200'003;
    const auto memory = communicator.allocate(count * 4);
    const auto made = communicator.plan_for(Call{Collective::all_reduce, memory->get(), memory->get(), count});
    if (!made || made->header.protocol != Protocol::direct) return "no direct plan";
    auto read = read_plan(write_plan(*made));
    read->header.algorithm = "brought along";
    if (auto used = communicator.use_plan(*read); !used) return to_string(used.error());
    std::vector<float> ordinary(count);
    for (const bool symmetric : {true, false, true}) {
      float* const data = symmetric ? as<float>(memory) : ordinary.data();
      std::fill_n(data, count, 2.0f);
      const Call call{Collective::all_reduce, data, data, count};
      const auto plan = communicator.plan_for(call);
      if (!plan || plan->header.protocol != (symmetric ? Protocol::direct : Protocol::staged)) return "another protocol";
      if (auto done = communicator.run(call); !done) return to_string(done.error());
      for (const std::uint64_t i : {std::uint64_t{0}, count / 2, count - 1})
        if (data[i] != 2.0f * static_cast<float>(communicator.size())) return "a wrong sum";
      const std::string record = communicator.flight_record();
      if (record.find(symmetric ? "in symmetric memory by brought along" : "(sum) by brought along") == std::string::npos) return record;
    }
    return "";
  };
  for (const char* algorithm : {"direct_two_shot", "direct_push"})
    for (const std::uint32_t ranks : {2u, 3u}) CHECK(complaints(run_processes(ranks, body, forced(algorithm))) == "");
}

TEST_CASE("communicators of one family share their symmetric memory, which outlives them") {
  const auto body = [](Communicator& communicator) -> std::string {
    const std::uint64_t count = 300'000;
    Result<std::shared_ptr<void>> late = Error{};
    {
      auto child = communicator.split(static_cast<std::int32_t>(communicator.rank() % 2), -static_cast<std::int32_t>(communicator.rank()));
      if (!child) return to_string(child.error());
      const auto memory = communicator.allocate(count * 4);
      late = (*child)->allocate(count * 4);
      if (!memory || !late) return "no memory";
      std::fill_n(as<float>(memory), count, 1.0f);
      if (auto done = (*child)->all_reduce(memory->get(), late->get(), count, DataType::f32); !done) return to_string(done.error());
      if (as<float>(late)[count - 1] != static_cast<float>((*child)->size())) return "a wrong sum in the child";
      if ((*child)->flight_record().find("in symmetric memory") == std::string::npos) return "the child doesn't know its parent's memory";
    }
    std::fill_n(as<float>(late), count, 2.0f);
    if (auto done = communicator.all_reduce(late->get(), late->get(), count, DataType::f32); !done) return to_string(done.error());
    return as<float>(late)[0] == 2.0f * static_cast<float>(communicator.size()) ? "" : "a wrong sum in the parent";
  };
  CHECK(complaints(run_processes(4, body)) == "");
  const auto orphan = [](Communicator& communicator) -> std::string {
    Result<std::shared_ptr<void>> memory = Error{};
    {
      auto other = Communicator::local(communicator.rank(), communicator.size(), "rondo-orphan-" + std::to_string(communicator.topology().ranks[0].process));
      if (!other) return to_string(other.error());
      memory = other->allocate(5000);
    }
    std::fill_n(as<char>(memory), 5000, 'x');
    return as<char>(memory)[4999] == 'x' ? "" : "gone";
  };
  CHECK(complaints(run_processes(2, orphan)) == "");
}

TEST_CASE("map_peers says where the others' symmetric memory lies") {
  const auto body = [](Communicator& communicator, bool threads) -> std::string {
    const std::uint32_t rank = communicator.rank(), ranks = communicator.size();
    const auto before = communicator.allocate(5000 * rank);  // so that it lies elsewhere in each rank's
    const auto memory = communicator.allocate(5000);
    if (!before || !memory) return "no memory";
    const auto places = communicator.map_peers(memory->get(), 5000);
    if (!places) return to_string(places.error());
    if ((*places)[rank] != memory->get()) return "its own lies elsewhere";
    static_cast<char*>((*places)[(rank + 1) % ranks])[4999] = static_cast<char>('a' + rank);
    if (auto met = communicator.barrier(); !met) return to_string(met.error());
    if (as<char>(memory)[4999] != static_cast<char>('a' + (rank + ranks - 1) % ranks)) return "the neighbour wrote elsewhere";
    int elsewhere = 0;
    const auto refused = communicator.map_peers(&elsewhere, sizeof elsewhere);
    if (auto met = communicator.barrier(); !met) return to_string(met.error());
    if (threads) return refused ? "" : to_string(refused.error());
    return !refused && refused.error().code == Errc::unsupported ? "" : "memory of its own was mapped";
  };
  CHECK(complaints(run_threads(3, [&](Communicator& communicator) { return body(communicator, true); })) == "");
  CHECK(complaints(run_processes(3, [&](Communicator& communicator) { return body(communicator, false); })) == "");
}

TEST_CASE("symmetric memory is zeroed, at a page's beginning, given back, and refused when there isn't so much", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (int round = 0; round < 5; ++round) {
      const auto memory = communicator.allocate(std::uint64_t{16} << 20);
      if (!memory) return to_string(memory.error());
      if (reinterpret_cast<std::uintptr_t>(memory->get()) % 4096 != 0) return "not at a page";
      if (as<char>(memory)[round * 4096] != 0) return "not zeroed";
      std::memset(as<char>(memory) + round * 4096, 1, 8192);  // some of it is at the place of the next, if this one is given back
    }
    const auto nothing = communicator.allocate(0);
    if (!nothing) return to_string(nothing.error());
    const auto absurd = communicator.allocate(std::uint64_t{1} << 60);
    if (absurd) return "2^60 bytes were given";
    if (auto wrong = expect_error(Result<void>(absurd.error()), Errc::out_of_resources, {"1152921504606846976 bytes"}); !wrong.empty()) return wrong;
    const auto all_there_is = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto too_much = communicator.allocate(all_there_is);
    if (too_much) return "all of the machine's memory was given";
    return expect_error(Result<void>(too_much.error()), Errc::out_of_resources, {std::to_string(all_there_is) + " bytes of memory: "});
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("what is wrong with symmetric memory in a call is said, and the communicator goes on") {
  const auto body = [](Communicator& communicator) -> std::string {
    void* freed = nullptr;
    {
      const auto memory = communicator.allocate(4096);
      freed = memory->get();
    }
    const auto out = communicator.allocate(4096);  // takes the place of the first
    const auto next = communicator.allocate(4096);
    if (out->get() != freed) return "freed memory isn't given out again";
    void* const behind = as<char>(next) + 4096;
    float ordinary[4] = {};
    for (int round = 0; round < 2; ++round) {
      // what looks like a call that repeats is refused, too
      if (auto done = communicator.all_reduce(ordinary, ordinary, 4, DataType::f32); !done) return to_string(done.error());
      if (auto wrong = expect_error(communicator.all_reduce(behind, out->get(), 4, DataType::f32), Errc::invalid_argument, {"input", "freed"}); !wrong.empty())
        return wrong;
      const auto longer = communicator.all_gather(next->get(), as<float>(out) + 512, 512, DataType::f32);
      if (auto wrong = expect_error(longer, Errc::invalid_argument, {"output", "ends behind", "count 512"}); !wrong.empty()) return wrong;
      if (auto done = communicator.all_reduce(next->get(), out->get(), 1024, DataType::f32); !done) return to_string(done.error());
    }
    return "";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("freed symmetric memory is refused wherever a call may name it") {
  const auto body = [](Communicator& communicator) -> std::string {
    const auto kept = communicator.allocate(8192);
    void* freed = nullptr;
    {
      const auto memory = communicator.allocate(8192);
      freed = memory->get();
    }
    const std::vector<std::uint64_t> counts(communicator.size(), 8);
    const std::uint32_t peer = 1 - communicator.rank();
    const auto fused = [&](const void* input, void* output, std::uint64_t count) {
      const Tensor tensors[] = {{kept->get(), kept->get(), 4}, {input, output, count}};
      return communicator.all_reduce_fused(Bucket{tensors});
    };
    float* const end = as<float>(kept) + 2048;
    const std::pair<Result<void>, const char*> calls[] = {
        {communicator.all_reduce(freed, freed, 8, DataType::f32), "freed"},
        {communicator.all_to_all_v(freed, {counts}, kept->get(), {counts}, DataType::f32), "in input the block of rank 0 lies in symmetric memory"},
        {communicator.all_to_all_v(kept->get(), {counts}, freed, {counts}, DataType::f32), "in output the block of rank 0 lies in"},
        {communicator.start_all_to_all_v(freed, {counts}, kept->get(), {counts}, DataType::f32).wait(), "freed"},
        {communicator.send(freed, 8, DataType::f32, peer), "the message lies in symmetric memory that was freed"},
        {communicator.recv(freed, 8, DataType::f32, peer), "freed"},
        {communicator.start_recv(end - 4, 8, DataType::f32, peer).wait(), "the message ends behind the symmetric memory it begins in, with count 8"},
        {Result<void>(communicator.recv_any(freed, 8, DataType::f32).error()), "freed"},
        {fused(freed, as<float>(kept) + 64, 8), "tensor 1: input lies in symmetric memory that was freed"},
        {fused(as<float>(kept) + 64, freed, 8), "tensor 1: output lies in"},
        {fused(end - 4, end - 4, 8), "tensor 1: input ends behind"},
    };
    for (const auto& [result, words] : calls)
      if (auto wrong = expect_error(result, Errc::invalid_argument, {words}); !wrong.empty()) return wrong;
    const auto after = communicator.all_to_all_v(kept->get(), {counts}, as<float>(kept) + 1024, {counts}, DataType::f32);
    return after ? "" : to_string(after.error());
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("where one rank's memory is ordinary, all make the call as one on ordinary memory, and say so") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 100'000;
    const auto memory = communicator.allocate(count * 4);
    std::vector<float> ordinary(count);
    if (auto traced = communicator.start_trace(1 << 16); !traced) return to_string(traced.error());
    for (std::uint32_t other = 0; other <= communicator.size(); ++other) {  // the last time nobody
      if (communicator.rank() == other % 2) sleep_ms(20);  // the first to come, or the last
      float* const data = communicator.rank() == other ? ordinary.data() : as<float>(memory);
      std::fill_n(data, count, 2.0f);
      if (auto done = communicator.all_reduce(data, data, count, DataType::f32); !done) return to_string(done.error());
      if (std::any_of(data, data + count, [&](float value) { return value != 2.0f * static_cast<float>(communicator.size()); })) return "a wrong sum";
      const std::string record = communicator.flight_record(), last = record.substr(record.rfind('#'));
      if ((last.find("in place in symmetric memory by direct_push: done") == std::string::npos) == (other == communicator.size())) return last;
    }
    const auto trace = communicator.stop_trace();
    if (!trace || trace->events.empty()) return "no trace";
    const std::uint64_t last = trace->events.back().call;
    const bool right = std::all_of(trace->events.begin(), trace->events.end(),
                                   [&](const TraceEvent& event) { return (trace->plans[event.plan].algorithm == "direct_push") == (event.call == last); });
    return right ? "" : "events are of another plan than ran";
  };
  CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("calls on symmetric memory that are different calls are a mismatch, as others are") {
  const auto body = [](Communicator& communicator) -> std::string {
    const auto memory = communicator.allocate(400'000);
    const std::uint64_t count = communicator.rank() == 1 ? 50'000 : 100'000;
    return expect_error(communicator.all_reduce(memory->get(), memory->get(), count, DataType::f32), Errc::mismatch,
                        {"rank 1 called all_reduce of 50000 f32 (sum)", "called all_reduce of 100000 f32 (sum)"});
  };
  CHECK(complaints(run_processes(3, body)) == "");
  const auto places = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 10'000;
    const auto in = communicator.allocate(count * 4 * communicator.size()), out = communicator.allocate(count * 4 * communicator.size());
    void* const output = communicator.rank() == 1 ? in->get() : out->get();
    return expect_error(communicator.all_to_all(in->get(), output, count, DataType::f32), Errc::mismatch,
                        {"rank 0 called all_to_all of 10000 f32", "rank 1 called all_to_all of 10000 f32 in place"});
  };
  CHECK(complaints(run_processes(2, places)) == "");
}

TEST_CASE("threads read one another's ordinary memory, and ranks may still differ in being in place", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::uint64_t count = 2 << 20;
    std::vector<float> in(count, 1.0f), out(count);
    for (int round = 0; round < 3; ++round) {
      std::fill(in.begin(), in.end(), 1.0f);
      float* const output = communicator.rank() == 1 ? in.data() : out.data();
      if (auto done = communicator.all_reduce(in.data(), output, count, DataType::f32); !done) return to_string(done.error());
      if (output[count - 1] != static_cast<float>(communicator.size())) return "a wrong sum";
    }
    const std::string record = communicator.flight_record();
    return record.find("all_reduce of 2097152 f32 (sum) by direct_push: done") == std::string::npos ? record : "";
  };
  CHECK(complaints(run_threads(3, body)) == "");
}

TEST_CASE("threads whose call has failed may unmap their buffers at once", "[threads]") {
  // Whoever still read them would die.
  constexpr std::uint64_t bytes = 16 << 20;
  const auto map = [] { return static_cast<float*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)); };
  for (int round = 0; round < 30; ++round) {
    std::atomic<bool> calling{false};
    const auto body = [&](Communicator& communicator) -> std::string {
      float* const in = map();
      float* const out = map();
      std::thread aborter;
      if (communicator.rank() == 1) aborter = std::thread([&] {
        while (!calling) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
        communicator.abort();
      });
      Result<void> result;
      while (result) {
        if (communicator.rank() == 1) calling = true;
        result = communicator.all_reduce(in, out, bytes / 4, DataType::f32);
      }
      munmap(in, bytes);
      munmap(out, bytes);
      if (aborter.joinable()) aborter.join();
      return expect_error(result, Errc::aborted, {"abort()"});
    };
    CHECK(complaints(run_threads(3, body)) == "");
  }
}
